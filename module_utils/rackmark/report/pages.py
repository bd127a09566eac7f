"""Fills the templates of reports: text from a run cannot become markup, and a name that is missing is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

import jinja2

from . import markdown


def html(templates: Path, name: str, content: Mapping[str, Any]) -> bytes:
    environment = jinja2.Environment(autoescape=True, **_settings(templates))
    return _filled(environment, name, content)


def plain(templates: Path, name: str, content: Mapping[str, Any]) -> bytes:
    """Markdown: each value is escaped as it is put in."""
    environment = jinja2.Environment(autoescape=False, finalize=markdown.escape, **_settings(templates))
    environment.globals["markdown_table"] = markdown.table
    return _filled(environment, name, content)


def _settings(templates: Path) -> dict[str, Any]:
    return {
        "loader": jinja2.FileSystemLoader(templates),
        "undefined": jinja2.StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }


def _filled(environment: jinja2.Environment, name: str, content: Mapping[str, Any]) -> bytes:
    return (environment.get_template(name).render(content).rstrip() + "\n").encode()

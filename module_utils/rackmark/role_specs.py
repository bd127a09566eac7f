"""What roles say about themselves: their variables in meta/ (argument_specs.yml, limits.yml) and defaults/main.yml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping

import yaml


@dataclass(frozen=True)
class Role:
    name: str
    entry: Mapping[str, Any]
    """The first entry point of its argument specification; each option has its `limit` from meta/limits.yml."""
    defaults: Mapping[str, Any]
    parts: Mapping[str, str]
    """What its further entry points do."""

    @property
    def options(self) -> Mapping[str, Mapping[str, Any]]:
        return self.entry.get("options") or {}


def load_yaml(path: Path) -> dict[str, Any]:
    return (yaml.safe_load(path.read_text()) or {}) if path.exists() else {}


def read_roles(folder: Path, load: Callable[[Path], Mapping[str, Any]] = load_yaml) -> list[Role]:
    roles = []
    for path in sorted(folder.glob("*/meta/argument_specs.yml")):
        (_, entry), *parts = load(path)["argument_specs"].items()
        limits = load(path.with_name("limits.yml"))
        options = with_limits(entry.get("options") or {}, limits)
        defaults = load(path.parents[1] / "defaults/main.yml")
        described = {name: part["short_description"] for name, part in parts}
        roles.append(Role(path.parents[1].name, {**entry, "options": options}, defaults, described))
    return roles


def with_limits(options: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    """Options with their limits, which are a file of their own: Ansible's format has no place for them."""
    merged = {}
    for name, spec in options.items():
        limit = limits.get(name)
        if isinstance(limit, dict):
            merged[name] = {**spec, "options": with_limits(spec.get("options") or {}, limit)}
        else:
            merged[name] = spec if limit is None else {**spec, "limit": str(limit)}
    return merged

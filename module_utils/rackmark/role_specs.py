"""What roles say about themselves: their variables in meta/argument_specs.yml and defaults/main.yml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping

import yaml


@dataclass(frozen=True)
class Role:
    name: str
    entry: Mapping[str, Any]
    """The entry point main of its argument specification."""
    defaults: Mapping[str, Any]

    @property
    def options(self) -> Mapping[str, Mapping[str, Any]]:
        return self.entry.get("options") or {}


def load_yaml(path: Path) -> dict[str, Any]:
    return (yaml.safe_load(path.read_text()) or {}) if path.exists() else {}


def read_roles(folder: Path, load: Callable[[Path], Mapping[str, Any]] = load_yaml) -> list[Role]:
    return [
        Role(
            name=path.parents[1].name,
            entry=load(path)["argument_specs"]["main"],
            defaults=load(path.parents[1] / "defaults/main.yml"),
        )
        for path in sorted(folder.glob("*/meta/argument_specs.yml"))
    ]

"""Files below a folder that nobody vouches for: links that lead out of it are not followed, large files not read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping

_LARGEST_JSON = 2 << 20
_PLAIN_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)


@dataclass
class Folder:
    """`problems` gets a sentence for everything that was asked for and cannot be had."""

    root: Path
    problems: list[str] = field(default_factory=list)

    def entries(self, path: str) -> list[str]:
        """Names of what is in a folder, if there is such a folder; one that nobody would choose is a problem."""
        try:
            names = sorted(entry.name for entry in self._inside(path).iterdir())
        except (OSError, ValueError):
            return []
        odd = [name for name in names if not _PLAIN_NAME.fullmatch(name)]
        self.problems += [f"In {path}, {name!a:.80} was left out for its name." for name in odd[:3]]
        return [name for name in names if name not in odd]

    def folders(self, path: str) -> list[str]:
        return [name for name in self.entries(path) if self._is_folder(f"{path}/{name}")]

    def has(self, path: str) -> bool:
        try:
            return self._inside(path).is_file()
        except (OSError, ValueError):
            return False

    def file(self, path: str) -> Path | None:
        try:
            found = self._inside(path)
        except ValueError as error:
            self.problems.append(str(error))
            return None
        if found.is_file():
            return found
        self.problems.append(f"{path} is missing.")
        return None

    def record(self, path: str) -> Mapping[str, Any] | None:
        """The JSON object in a file."""
        found = self.file(path)
        if found is None:
            return None
        with found.open("rb") as file:
            text = file.read(_LARGEST_JSON + 1)
        if len(text) > _LARGEST_JSON:
            self.problems.append(f"{path} is larger than {_LARGEST_JSON >> 20} MB.")
            return None
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            self.problems.append(f"{path} is not a JSON object.")
            return None
        return content

    def _is_folder(self, path: str) -> bool:
        try:
            return self._inside(path).is_dir()
        except ValueError as error:
            self.problems.append(str(error))
            return False

    def _inside(self, path: str) -> Path:
        try:
            found = (self.root / path).resolve()
        except (OSError, RuntimeError):  # a link that leads to itself
            raise ValueError(f"{path} is a link that leads nowhere.") from None
        if self.root not in found.parents:
            raise ValueError(f"{path} is a link that leads out of the folder, and is not followed.")
        return found

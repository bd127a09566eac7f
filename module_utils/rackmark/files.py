"""Writes files so that a reader sees the old content or the new, never half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Mapping


def changed_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    return [folder / name for name, content in files.items() if not _holds(folder / name, content)]


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes those of `files` (content by path in `folder`) that are not there yet as they should be."""
    for name, content in files.items():
        if not _holds(folder / name, content):
            _replace(folder / name, content)


def keep_files(folder: Path, files: Mapping[str, bytes], only_look: bool) -> list[str]:
    """The paths of those that were missing or differed; with `only_look` they are left so."""
    changed = changed_files(folder, files)
    if not only_look:
        write_files(folder, files)
    return [str(path) for path in changed]


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink()
        raise

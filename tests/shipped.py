"""Programs for nodes in a folder as roles put them there: with the modules that they import."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from rackmark.shipping import with_node_room

ROLES = Path(__file__).parents[1] / "roles"


def ship(programs: Path, folder: Path) -> Path:
    files = {f"{folder.name}/{path.name}": path.read_text() for path in programs.iterdir() if path.is_file()}
    for name, content in with_node_room(files, folder.name).items():
        path = folder.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def oldest_python() -> Path:
    """Python 3.8 where this machine has one, pyenv's among them, else the one that runs the tests.

    What newer ones allow and 3.8 does not is found by tests/unit/test_oldest_python.py, everywhere.
    """
    found = [*sorted(Path.home().glob(".pyenv/versions/3.8.*/bin/python")), shutil.which("python3.8"), sys.executable]
    return next(Path(path) for path in found if path)

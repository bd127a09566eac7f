"""Finds the folder of real logs and results beside the project, which is not part of it."""

from __future__ import annotations

from pathlib import Path

import pytest

_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared(path: str) -> Path:
    """A file or folder of real data; without the data the test is skipped, and pytest's summary says why."""
    if not _FOLDER.is_dir():
        pytest.skip(
            f"REAL DATA MISSING: there is no folder {_FOLDER.parent.name}/data beside the project",
            allow_module_level=True,
        )
    return _FOLDER / path

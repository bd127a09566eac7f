"""The marks by which a host shows which roles it was given."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Sequence

from . import guarded_files


def is_there(paths: Sequence[str], holds: str = "") -> bool:
    """Whether all of these are there, and the first holds a text. What a link points to need not be there."""
    if not all(map(os.path.lexists, paths)):
        return False
    return not holds or holds.encode() in (guarded_files.read(Path(paths[0])) or b"")

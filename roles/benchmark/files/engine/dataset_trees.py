"""Files of a dataset, in one order on all nodes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Callable, Sequence

# Asking for the size of each of ImageNet's files would take minutes over a network: of larger trees, a sample is sized.
MOST_SIZED = 20_000


def files_below(folder: Path, wanted: Callable[[str], bool]) -> list[Path]:
    """Those whose name is wanted, at any depth; a dataset may be one file by itself. Hidden ones belong to others."""
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise FileNotFoundError(2, "No such file or folder", str(folder))
    found = []
    for top, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(top, name) for name in sorted(names) if not name.startswith(".") and wanted(name)]
    return found


def _raise(error: OSError) -> None:
    """By itself, a walk passes over folders that cannot be read."""
    raise error


def sampled_bytes(paths: Sequence[Path]) -> int:
    every = -(-len(paths) // MOST_SIZED) or 1
    return sum(path.stat().st_size for path in paths[::every])


def digest(folder: Path, paths: Sequence[Path]) -> str:
    """One word for their names."""
    names = "\n".join(str(path.relative_to(folder)) for path in paths)
    return hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()[:16]

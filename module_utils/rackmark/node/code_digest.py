"""Whether the program's files are those that a run was begun with: what each of them was then, and what all are now.

The list is one for `sha256sum -c`, run in the folder of the run. Files that the program itself adds are not on it, and
change nothing, but for Python's: a module that comes later hides one of the same name elsewhere.
"""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath
from typing import Iterable

CODE = "code"
FILE = "code.sha256"
_DIGITS = 64
_PIECE = 1 << 20
_HIDES_OTHERS = "*.py"


def write_list(run_dir: Path, names: Iterable[str]) -> str:
    """Of files in the folder of the code; returns their digest."""
    lines = [f"{_digest(run_dir / CODE / name)}  {CODE}/{name}\n" for name in sorted(names)]
    (run_dir / FILE).write_text("".join(lines), encoding="utf-8", errors="surrogateescape")
    return code_digest(run_dir) or ""


def listed_files(run_dir: Path) -> list[str]:
    """By their path in the folder of the run; none where it was begun before there was a list."""
    try:
        lines = (run_dir / FILE).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    paths = [PurePosixPath(line[_DIGITS + 2 :]) for line in lines]
    return [str(path) for path in paths if path.parts[:1] == (CODE,) and ".." not in path.parts]


def code_digest(run_dir: Path) -> str | None:
    """Of all files on the list, as they are now; one that is missing changes it, too, and so does a new module."""
    names = listed_files(run_dir)
    if not names:
        return None
    names += sorted({str(path.relative_to(run_dir)) for path in (run_dir / CODE).rglob(_HIDES_OTHERS)} - set(names))
    found = "".join(f"{_digest(run_dir / name)}  {name}\n" for name in names)
    return hashlib.sha256(found.encode("utf-8", "surrogateescape")).hexdigest()


def _digest(path: Path) -> str:
    sha256 = hashlib.sha256()
    try:
        with path.open("rb") as file:
            for piece in iter(lambda: file.read(_PIECE), b""):
                sha256.update(piece)
    except OSError:
        return "missing".ljust(_DIGITS)
    return sha256.hexdigest()

"""A network is one trial's alone: experiment/architectures/<hh>/<digest>, a file that can be created once."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

FOLDER = "architectures"


def reserve(experiment: Path, digest: str, seq: int) -> bool:
    """Whether the network is this trial's: nobody else in the whole search can have it. Asking again is no harm."""
    path = experiment / FOLDER / digest[:2] / digest
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        return path.read_bytes() == str(seq).encode()
    try:
        os.write(file, str(seq).encode())
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(file)
    return True

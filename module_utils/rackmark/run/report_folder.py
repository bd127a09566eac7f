"""The folder that results are written to, on the machine that Ansible runs on."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

ROOM_MB = 50


def why_not(folder: Path) -> str | None:
    """Why results could not be written there, as a sentence; asked by taking room, which quotas refuse as well.

    A folder that is not there yet is not made.
    """
    try:
        nearest = next(place for place in (folder, *folder.parents) if place.exists())
        with tempfile.TemporaryFile(dir=nearest) as file:
            os.posix_fallocate(file.fileno(), 0, ROOM_MB << 20)
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        fix = f"Make room for {ROOM_MB} MB" if is_full else "Make it writable"
        return (
            f"Results cannot be written to {folder}: {error.strerror}. {fix}, or choose another folder with"
            " -e benchmark_runs_dir=DIR. Nothing was started."
        )
    return None

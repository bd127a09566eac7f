"""The folder of a repeat around its attempts: what an earlier one left, and the record of how each ended."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Collection, Mapping

from .job_record import FILE

JOB_SCRIPT = "job.sh"
END = "end.json"
RESERVED = ".end.json"
RESERVED_BYTES = 4096
# What a queue writes of an attempt, from before it begins until after it has ended.
OF_THE_QUEUE = ("slurm.log", "job.json", ".job.json")

EXPERIMENT = "experiment"  # which a search that is resumed goes on with

_OF_ALL_ATTEMPTS = (JOB_SCRIPT, FILE, RESERVED, EXPERIMENT)
_EARLIER = re.compile(r"attempt-(\d+)")


def set_aside(folder: Path, stays: Collection[str] = ()) -> int:
    """Moves what an earlier attempt left to a folder of its own, where nothing is judged and nothing is lost.

    Returns the number of the attempt that begins.
    """
    paths = list(folder.iterdir())
    earlier = [match for match in (_EARLIER.fullmatch(path.name) for path in paths) if match]
    number = max((int(match.group(1)) for match in earlier), default=0) + 1
    kept = (*_OF_ALL_ATTEMPTS, *stays)
    left = [path for path in paths if path.name not in kept and not _EARLIER.fullmatch(path.name)]
    if not left:
        return number
    aside = folder / f"attempt-{number}"
    aside.mkdir()
    for path in left:
        path.rename(aside / path.name)
    return number + 1


def reserve(folder: Path) -> None:
    """Room for the record of the end, which has to be written even when the disk is full by then."""
    reserved = folder / RESERVED
    if reserved.exists() and reserved.stat().st_size >= RESERVED_BYTES:  # made when the job was submitted
        return
    with reserved.open("wb") as file:
        file.write(b" " * (RESERVED_BYTES - 1) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def write_end(folder: Path, end: Mapping[str, Any]) -> None:
    """Overwrites the reserved room in place: freed first, others who write could take it."""
    content = (json.dumps(end) + "\n").encode()
    reserved = folder / RESERVED
    with reserved.open("r+b" if reserved.exists() else "wb") as file:
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    reserved.replace(folder / END)

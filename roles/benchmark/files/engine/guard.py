"""Notices ranks that have stopped to say anything, and tells which of them the others wait for."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

from launch import Job

SECONDS_BETWEEN_LOOKS = 2.0
_TAIL_BYTES = 65536
_STOPPED = re.compile(r"rackmark: (The process of .* was stopped by .*)")


class Guard:
    """A rank counts as silent when its log has not grown for the time allowed, from the start of the ranks on."""

    def __init__(self, job: Job, stalled_after: float) -> None:
        self._job = job
        self._allowed = stalled_after
        self._sizes = dict.fromkeys(range(job.world_size), -1)
        self._grown = {rank: time.monotonic() for rank in range(job.world_size)}

    @property
    def seconds_between_looks(self) -> float:
        return min(SECONDS_BETWEEN_LOOKS, self._allowed / 4)

    def stalled(self) -> str | None:
        """A sentence once a rank has been silent for too long."""
        # Names are taken from the folder: asked for a file that is not there, NFS remembers that for a minute.
        present = {path.name for path in self._job.folder.iterdir()}
        for rank in self._sizes:
            if _log(rank) in present:
                self._note(rank, _size(self._job.folder / _log(rank)))
        suspects = self._silent()
        for rank in suspects:
            self._note(rank, _size_on_server(self._job.folder / _log(rank)))
        if not any(f"rank-{rank}.exit" not in present for rank in self._silent()):
            return None
        return self._blame([rank for rank in self._sizes if f"rank-{rank}.exit" not in present])

    def _note(self, rank: int, size: int) -> None:
        if size > self._sizes[rank]:
            self._sizes[rank], self._grown[rank] = size, time.monotonic()

    def _silent(self) -> list[int]:
        latest = time.monotonic() - self._allowed
        return [rank for rank, grown in self._grown.items() if grown < latest]

    def _blame(self, running: list[int]) -> str:
        tails = {rank: _tail(self._job.folder / _log(rank)) for rank in running}
        for rank, lines in tails.items():
            stopped = _STOPPED.match(lines[-1]) if lines else None
            if stopped:
                return f"No line of {self._job.name_of(rank)} came for {self._allowed:g} s. {stopped.group(1)}"
        steps = {rank: _last_step(lines) for rank, lines in tails.items()}
        least, most = min(steps.values()), max(steps.values())
        behind = [rank for rank, step in steps.items() if step == least]
        where = f"after step {least}" if least else "before the first step ended"
        if len(behind) > 1 and least == most:
            return (
                f"No line came for {self._allowed:g} s {where} of all {len(behind)} ranks that were still at work, so"
                " the logs cannot tell which of them hangs."
            )
        names = ", ".join(self._job.name_of(rank) for rank in behind[:4]) + (" and others" if len(behind) > 4 else "")
        others = f", while others reached step {most}" if least < most else ""
        return f"No line came for {self._allowed:g} s {where} of {names}{others}."


def _log(rank: int) -> str:
    return f"rank-{rank}.log"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _size_on_server(path: Path) -> int:
    """The size as it is now: NFS may answer from memory, but not for a file that has just been opened."""
    try:
        with path.open("rb") as file:
            return os.fstat(file.fileno()).st_size
    except OSError:
        return -1


def _tail(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            return file.read().decode(errors="replace").splitlines()
    except OSError:
        return []


def _last_step(lines: list[str]) -> int:
    for line in reversed(lines):
        if line.startswith("RACKMARK ") and '"step"' in line:
            try:
                return int(json.loads(line[len("RACKMARK ") :])["step"])
            except (ValueError, KeyError, TypeError):  # half a line, or of another kind
                continue
    return 0

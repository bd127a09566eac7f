"""Notices ranks that have stopped to say anything, tells which of them the others wait for, and when all have ended."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Collection, Sequence

from allocation import Allocation, exit_of, log_of
from network import answering_nodes

SECONDS_BETWEEN_LOOKS = 2.0
# What started the ranks gets this long when all have written how they ended: enough to sample a node for a last time.
# It may wait for ever where a slurmstepd was killed. (`srun --wait` would count from the end of the first rank, and cut
# off one that still writes a checkpoint.)
SECONDS_TO_LEAVE = 30.0
_SECONDS_TO_LEAVE_LOST = 5.0  # a node that is lost ends nothing
_SECONDS_BETWEEN_QUESTIONS = 10.0
_TAIL_BYTES = 65536
_STOPPED = re.compile(r"rackmark: (The process of .* was stopped by .*)")
_READ_HERE = "rackmark"  # the dialect whose lines tell steps


class Guard:
    """A rank counts as silent when its log has not grown for the time allowed, from the start of the ranks on.

    `reachable` are nodes that answered at the start. Where nodes work by themselves, only the silence of all is one,
    and nodes that are lost are not waited for.
    """

    def __init__(self, job: Allocation, reachable: Sequence[str]) -> None:
        self._job = job
        self._reachable = reachable
        self._lost: Collection[str] = ()
        self._next_question = 0.0
        self._allowed = job.record.stalled_after
        self._sizes = dict.fromkeys(job.processes, -1)
        self._grown = {rank: time.monotonic() for rank in job.processes}
        self._all_ended: float | None = None
        self.seconds_to_leave = min(SECONDS_TO_LEAVE, self._allowed)

    @property
    def seconds_between_looks(self) -> float:
        return min(SECONDS_BETWEEN_LOOKS, self._allowed / 4)

    @property
    def nobody_left(self) -> bool:
        """Whether at the last look all ranks had ended, for longer than what started them needs to end as well."""
        return self._all_ended is not None and time.monotonic() - self._all_ended > self.seconds_to_leave

    def stalled(self) -> str | None:
        """A sentence once a rank has been silent for too long. While the folder cannot be read, nobody can tell."""
        # Names are taken from the folder: asked for a file that is not there, NFS remembers that for a minute.
        try:
            present = {path.name for path in self._job.folder.iterdir()}
        except OSError:
            return None
        for rank in self._sizes:
            if log_of(rank) in present:
                self._note(rank, _size(self._job.folder / log_of(rank)))
        suspects = self._silent()
        for rank in suspects:
            self._note(rank, _size_on_server(self._job.folder / log_of(rank)))
        running = [rank for rank in self._sizes if exit_of(rank) not in present]
        independent = self._job.record.independent
        if independent and len(running) < len(self._sizes):
            running = self._without_lost_nodes(running)
        if not running and self._all_ended is None:
            self._all_ended = time.monotonic()
        silent = [rank for rank in self._silent() if rank in running]
        if independent and len(silent) < len(running):
            return None
        return self._blame(running, silent) if silent else None

    def _without_lost_nodes(self, running: Sequence[int]) -> list[int]:
        """Nodes are asked once others have ended, and not each time."""
        if running and time.monotonic() >= self._next_question:
            nodes = {self._job.node_of(rank) for rank in running} & set(self._reachable)
            self._lost = nodes - set(answering_nodes(sorted(nodes)))
            if self._lost:
                self.seconds_to_leave = min(self.seconds_to_leave, _SECONDS_TO_LEAVE_LOST)
            self._next_question = time.monotonic() + _SECONDS_BETWEEN_QUESTIONS
        return [rank for rank in running if self._job.node_of(rank) not in self._lost]

    def _note(self, rank: int, size: int) -> None:
        if size > self._sizes[rank]:
            self._sizes[rank], self._grown[rank] = size, time.monotonic()

    def _silent(self) -> list[int]:
        latest = time.monotonic() - self._allowed
        return [rank for rank, grown in self._grown.items() if grown < latest]

    def _blame(self, running: Sequence[int], silent: Sequence[int]) -> str:
        tails = {rank: _tail(self._job.folder / log_of(rank)) for rank in running}
        for rank, lines in tails.items():
            stopped = _STOPPED.search(lines[-1]) if lines else None
            if stopped:
                return f"No line of {self._job.name_of(rank)} came for {self._allowed:g} s. {stopped.group(1)}"
        steps = {rank: self._last_step(rank, lines) for rank, lines in tails.items()}
        known = [step for step in steps.values() if step is not None]
        if len(known) < len(steps):
            return self._sentence(silent, "", "", alike=len(silent) == len(running))
        least, most = min(known), max(known)
        behind = [rank for rank, step in steps.items() if step == least]
        where = f" after step {least}" if least else " before the first step ended"
        others = f", while others reached step {most}" if least < most else ""
        return self._sentence(behind, where, others, alike=least == most)

    def _sentence(self, ranks: Sequence[int], where: str, others: str, alike: bool) -> str:
        if len(ranks) > 1 and alike:
            return (
                f"No line came for {self._allowed:g} s{where} of all {len(ranks)} ranks that were still at work, so"
                " the logs cannot tell which of them hangs."
            )
        names = ", ".join(map(self._job.name_of, ranks[:4])) + (" and others" if len(ranks) > 4 else "")
        return f"No line came for {self._allowed:g} s{where} of {names}{others}."

    def _last_step(self, rank: int, lines: Sequence[str]) -> int | None:
        """None where its lines do not tell: of another dialect, or all of the last ones of another kind."""
        if self._job.record.dialect != _READ_HERE:
            return None
        for line in reversed(lines):
            _, _, record = line.partition("RACKMARK ")  # behind a progress bar, perhaps
            if '"step"' in record:
                try:
                    return int(json.loads(record)["step"])
                except (ValueError, KeyError, TypeError):  # half a line, or of another kind
                    continue
        return 0 if self._sizes[rank] <= _TAIL_BYTES else None


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

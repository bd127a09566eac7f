"""How a job ended, as far as its ranks tell."""

from __future__ import annotations

import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from allocation import Allocation, exit_of, log_of
from rackmark.node.processes import shell_status
from rackmark.node.states import FAILED, OK, exit_status_of

_TOLD_TO_END = "143"  # because another had failed
_SECONDS_FOR_THE_FILES = 3.0
NODES_FOR_ONE_LOST = 20  # a search on so many is not invalid without one of them


@dataclass(frozen=True)
class Ending:
    state: str
    reason: str | None
    exit_status: int
    first_failed: int | None = None
    rank_lost: bool = False

    @classmethod
    def of(cls, state: str, reason: str) -> Ending:
        """One that the job itself sees."""
        return cls(state, reason, exit_status_of(state))

    @classmethod
    def stopped(cls, by: signal.Signals) -> Ending:
        return cls("cancelled", f"The job was ended from outside by {by.name}.", 128 + by)


def outcome_of_processes(job: Allocation, processes: Sequence[subprocess.Popen[bytes]], launcher: str) -> Ending:
    """To be asked when all ranks have ended. `processes` had started them, and have ended by themselves."""
    launched = [shell_status(process.returncode) for process in processes if process.returncode]
    statuses = _exit_statuses(job)
    if not launched and all(status == "0" for status in statuses.values()):
        return Ending(OK, None, 0)
    lost = [rank for rank, kept in statuses.items() if kept is None]
    killed = "its process, or the one that started it, was killed"
    left_none = f"No exit status was left by {_some(list(map(job.name_of, lost)))}: of each, {killed}."
    failed = _first_failed(job, statuses)
    if failed is not None:
        status = int(statuses[failed] or 1)
        reason = f"First of all, {job.name_of(failed)} ended with exit status {status}."
        return Ending(FAILED, f"{reason} {left_none}" if lost else reason, status, failed, bool(lost))
    status = next((status for status in launched if str(status) != _TOLD_TO_END), 1)
    if not has_begun(job):
        return Ending.of("launch_failed", f"{launcher} ended with exit status {status} before any rank had started.")
    if len(lost) == 1 and len(statuses) > 1:
        reason = f"First of all, {job.name_of(lost[0])} ended without an exit status: {killed}."
        return Ending(FAILED, reason, status, lost[0], rank_lost=True)
    if lost:
        return Ending(FAILED, left_none, status, rank_lost=True)
    return Ending(FAILED, f"All ranks ended well, and what had started them ended with exit status {status}.", status)


def outcome_of_nodes(job: Allocation) -> Ending:
    """Of nodes that work by themselves, where what ran on one may be lost: of large jobs, a few may be."""
    statuses = _exit_statuses(job)
    lost = [rank for rank, kept in statuses.items() if kept is None]
    if len(lost) == len(statuses):
        return Ending.of("node_fail", "All nodes were lost: none left an exit status.")
    names = _some([job.node_of(rank) for rank in lost])
    words = "was lost: what ran there" if len(lost) == 1 else "were lost: what ran on them"
    others = f"{names} {words} left no exit status. The others went on to the end." if lost else None
    failed = _first_failed(job, statuses)
    if failed is not None:
        status = int(statuses[failed] or 1)
        said = f"{job.name_of(failed)[0].upper()}{job.name_of(failed)[1:]} ended with exit status {status}."
        return Ending(FAILED, " ".join(filter(None, [said, others])), status, failed)
    if len(lost) > len(statuses) // NODES_FOR_ONE_LOST:
        return Ending.of("node_fail", str(others))
    return Ending(OK, others, 0)


def has_begun(job: Allocation) -> bool:
    return any((job.folder / log_of(rank)).exists() for rank in job.processes)


def _some(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} others" if len(names) > 4 else "")


def _exit_statuses(job: Allocation) -> dict[int, str | None]:
    """Those written on other nodes may take a moment to be seen here, and a rank without one is the one to blame."""
    deadline = time.monotonic() + _SECONDS_FOR_THE_FILES
    while True:
        statuses = {rank: _read(job.folder / exit_of(rank)) for rank in job.processes}
        if None not in statuses.values() or time.monotonic() > deadline:
            return statuses
        time.sleep(0.1)


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


def _first_failed(job: Allocation, statuses: dict[int, str | None]) -> int | None:
    """By when their statuses were written, all by the clock of the storage."""
    failed = [rank for rank, status in statuses.items() if status not in (None, "0")]
    by_itself = [rank for rank in failed if statuses[rank] != _TOLD_TO_END]
    if not by_itself and None not in statuses.values():
        by_itself = failed
    return min(by_itself, key=lambda rank: (job.folder / exit_of(rank)).stat().st_mtime, default=None)

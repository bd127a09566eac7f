"""How a job ended, as far as its ranks tell."""

from __future__ import annotations

import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from launch import Job
from processes import shell_status

_TOLD_TO_END = "143"  # because another had failed
_SECONDS_FOR_THE_FILES = 3.0


@dataclass(frozen=True)
class Ending:
    state: str
    reason: str | None
    exit_status: int
    first_failed: int | None = None
    rank_lost: bool = False

    @classmethod
    def stopped(cls, by: signal.Signals) -> Ending:
        return cls("cancelled", f"The job was ended from outside by {by.name}.", 128 + by)


def outcome_of_ranks(job: Job, processes: list[subprocess.Popen[bytes]]) -> Ending:
    """To be asked when all processes that run ranks have ended."""
    launched = [shell_status(process.returncode) for process in processes if process.returncode]
    statuses = _exit_statuses(job, patient=not launched)
    if not launched and all(status == "0" for status in statuses.values()):
        return Ending("ok", None, 0)
    lost = [job.name_of(rank) for rank, kept in statuses.items() if kept is None]
    left_none = f"No exit status was left by {_some(lost)}."
    failed = _first_failed(job, statuses)
    if failed is not None:
        status = int(statuses[failed] or 1)
        reason = f"First of all, {job.name_of(failed)} ended with exit status {status}."
        return Ending("failed", f"{reason} {left_none}" if lost else reason, status, failed, bool(lost))
    status = next((status for status in launched if str(status) != _TOLD_TO_END), 1)
    if not any((job.folder / f"rank-{rank}.log").exists() for rank in range(job.world_size)):
        launcher = {"slurm": "srun", "ssh": "ssh", "local": "The launcher"}[job.launcher]
        return Ending("launch_failed", f"{launcher} ended with exit status {status} before any rank had started.", 6)
    if lost:
        return Ending("failed", left_none, status, rank_lost=True)
    return Ending("failed", f"All ranks ended well, and what had started them ended with exit status {status}.", status)


def _some(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} others" if len(names) > 4 else "")


def _exit_statuses(job: Job, patient: bool) -> dict[int, str | None]:
    """Those written on other nodes may take a moment to be seen here."""
    deadline = time.monotonic() + (_SECONDS_FOR_THE_FILES if patient else 0)
    while True:
        statuses = {rank: _read(job.folder / f"rank-{rank}.exit") for rank in range(job.world_size)}
        if None not in statuses.values() or time.monotonic() > deadline:
            return statuses
        time.sleep(0.1)


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


def _first_failed(job: Job, statuses: dict[int, str | None]) -> int | None:
    """By when their statuses were written, all by the clock of the storage."""
    failed = [rank for rank, status in statuses.items() if status not in (None, "0")]
    by_itself = [rank for rank in failed if statuses[rank] != _TOLD_TO_END]
    if not by_itself and None not in statuses.values():
        by_itself = failed
    return min(by_itself, key=lambda rank: (job.folder / f"rank-{rank}.exit").stat().st_mtime, default=None)

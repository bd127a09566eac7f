"""What one repeat of a case left behind, read from its folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Sequence

from .dialects import RankLog, Reader


@dataclass(frozen=True)
class Rank:
    number: int
    text: str
    log: RankLog
    exit_status: str | None


@dataclass(frozen=True)
class Repeat:
    """`job` is Slurm's final word on the job, or None when there is none to be read."""

    job: Mapping[str, Any] | None
    slurm_log: str
    ranks: Sequence[Rank]

    @property
    def suspects(self) -> list[Rank]:
        """The ranks that failed by themselves, then those that were killed, then those that ended well."""
        order = {"0": 2, None: 1}
        return sorted(self.ranks, key=lambda rank: order.get(rank.exit_status, 0))

    @property
    def texts(self) -> list[str]:
        """All that may hold an error message, the most telling last."""
        return [self.slurm_log, *(rank.text for rank in reversed(self.suspects))]


def repeat_folder(run_dir: Path, case: str, repeat: int) -> Path:
    return run_dir / "cases" / case / f"r{repeat}"


def read_repeat(folder: Path, read_log: Reader) -> Repeat:
    numbers = sorted(int(path.stem[5:]) for path in folder.glob("rank-*.log") if path.stem[5:].isdecimal())
    return Repeat(
        job=_read_job(folder / "job.json"),
        slurm_log=_read_text(folder / "slurm.log") or "",
        ranks=[_read_rank(folder, number, read_log) for number in numbers],
    )


def _read_rank(folder: Path, number: int, read_log: Reader) -> Rank:
    text = _read_text(folder / f"rank-{number}.log") or ""
    exit_status = _read_text(folder / f"rank-{number}.exit")
    return Rank(number, text, read_log(text), None if exit_status is None else exit_status.strip())


def _read_job(path: Path) -> Mapping[str, Any] | None:
    try:
        job = json.loads(_read_text(path) or "")
    except ValueError:
        return None
    return job if isinstance(job, dict) else None


def _read_text(path: Path) -> str | None:
    """A log may hold any bytes; those that are no text must not hide the rest."""
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return None

"""What one repeat of a case left behind, read from its folder."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Sequence

from ..dialects import RankLog, Reader

# Of a rank that was told to end because another had failed, or because someone wanted the job to end.
_ENDED_BY_OTHERS = (None, "143")


@dataclass(frozen=True)
class Rank:
    """`ended` is when the exit status was written."""

    number: int
    text: str
    log: RankLog
    exit_status: str | None
    ended: float | None


@dataclass(frozen=True)
class Repeat:
    """`job` is what Slurm says of the job, `end` what the job says of itself; None is no word that can be read."""

    job: Mapping[str, Any] | None
    end: Mapping[str, Any] | None
    slurm_log: str
    ranks: Sequence[Rank]
    attempts: int

    @property
    def suspects(self) -> list[Rank]:
        """The rank that failed first, others that failed by themselves, those ended by others, those that did well."""
        first = (self.end or {}).get("first_failed")

        def order(rank: Rank) -> tuple[bool, int, float]:
            kind = 2 if rank.exit_status == "0" else 1 if rank.exit_status in _ENDED_BY_OTHERS else 0
            return rank.number != first, kind, math.inf if rank.ended is None else rank.ended

        return sorted(self.ranks, key=order)

    @property
    def texts(self) -> list[str]:
        """All that may hold an error message, the most telling last."""
        return [self.slurm_log, *(rank.text for rank in reversed(self.suspects))]

    @property
    def slurm_state(self) -> str:
        """sacct writes "CANCELLED by 0" and "CANCELLED+" too."""
        return str((self.job or {}).get("state") or "unknown").split()[0].rstrip("+")

    @property
    def cancelled_by(self) -> str | None:
        """The number of the user who did, where Slurm says so."""
        match = re.fullmatch(r"CANCELLED by (\d+)", str((self.job or {}).get("state")))
        return match[1] if match else None

    @property
    def failed(self) -> bool:
        """By Slurm's word, where there is one, and else by the job's own."""
        if self.slurm_state in ("COMPLETED", "FAILED"):
            return self.slurm_state == "FAILED"
        return (self.end or {}).get("state") != "ok"

    @property
    def ended_well(self) -> bool:
        return not self.failed and all(rank.exit_status == "0" for rank in self.ranks)


def repeat_folder(run_dir: Path, case: str, repeat: int) -> Path:
    return run_dir / "cases" / case / f"r{repeat}"


def read_repeat(folder: Path, read_log: Reader) -> Repeat:
    numbers = sorted(int(path.stem[5:]) for path in folder.glob("rank-*.log") if path.stem[5:].isdecimal())
    earlier = [path for path in folder.glob("attempt-*") if re.fullmatch(r"attempt-\d+", path.name)]
    return Repeat(
        job=_read_record(folder / "job.json"),
        end=_read_record(folder / "end.json"),
        slurm_log=_read_text(folder / "slurm.log") or "",
        ranks=[_read_rank(folder, number, read_log) for number in numbers],
        attempts=len(earlier) + 1,
    )


def _read_rank(folder: Path, number: int, read_log: Reader) -> Rank:
    text = _read_text(folder / f"rank-{number}.log") or ""
    kept = folder / f"rank-{number}.exit"
    exit_status = (_read_text(kept) or "").strip() or None
    return Rank(number, text, read_log(text), exit_status, kept.stat().st_mtime if exit_status else None)


def _read_record(path: Path) -> Mapping[str, Any] | None:
    try:
        record = json.loads(_read_text(path) or "")
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _read_text(path: Path) -> str | None:
    """A log may hold any bytes; those that are no text must not hide the rest."""
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return None

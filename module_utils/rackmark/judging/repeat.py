"""What one repeat of a case left behind, read from its folder."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, Mapping, Sequence

from ..logs.dialect import Dialect
from ..logs.digest import Digest, RankDigest, as_digest
from ..logs.log_file import LogFile
from ..logs.series import Window
from .evidence import speaks_of_others_alone
from .node_clocks import clock_offsets

TOLD_TO_END = "143"  # because another had failed, or because someone wanted the job to end
_LATEST = 1e11
_END_OF_LOG = 1 << 16  # bytes, in which the cause of an end is looked for


@dataclass(frozen=True)
class Rank:
    """`ended` is when the exit status was written, `ahead` are seconds by which its clock is ahead of rank 0's."""

    number: int
    path: Path
    log: Digest
    exit_status: str | None
    ended: float | None
    ahead: float

    @cached_property
    def text(self) -> str:
        """The end of its log."""
        return _tail(self.path)

    @property
    def digests(self) -> Sequence[RankDigest]:
        return list(self.log.ranks.values())

    @property
    def has_begun(self) -> bool:
        log = self.log
        said = log.began is not None or "world_size" in log.facts or log.stated or log.trials
        return bool(said) or any(rank.logged_steps for rank in self.digests)


@dataclass(frozen=True)
class Repeat:
    """`job` is what Slurm says of the job, `end` what the job says of itself; None is no word that can be read."""

    job: Mapping[str, Any] | None
    end: Mapping[str, Any] | None
    folder: Path
    ranks: Sequence[Rank]
    attempts: int

    @cached_property
    def slurm_log(self) -> str:
        return _tail(self.folder / "slurm.log")

    @cached_property
    def worker_logs(self) -> Mapping[int, str]:
        """The ends of what the servers of a cloud logged, by their numbers, of those that logged anything."""
        logs = {path.stem.partition("-")[2]: _tail(path) for path in self.folder.glob("worker-*.log")}
        return {int(number): logs[number] for number in sorted(logs) if number.isdecimal() and logs[number].strip()}

    @property
    def suspects(self) -> list[Rank]:
        """Ranks that failed by themselves, those without an exit status, for they were killed, those that ended because
        of others, those that did well; of each kind the one that failed first by the job's own word, then by time."""
        first = (self.end or {}).get("first_failed")
        one_was_killed = any(rank.exit_status is None for rank in self.ranks)

        def kind(rank: Rank) -> int:
            if rank.exit_status is None:
                return 1
            if rank.exit_status in ("0", TOLD_TO_END):
                return 3 if rank.exit_status == "0" else 2
            return 2 if one_was_killed and speaks_of_others_alone(rank.text) else 0

        def order(rank: Rank) -> tuple[int, bool, float]:
            return kind(rank), rank.number != first, math.inf if rank.ended is None else rank.ended

        return sorted(self.ranks, key=order)

    @property
    def texts(self) -> list[str]:
        """All that may hold an error message, the most telling last."""
        return [self.slurm_log, *self.worker_logs.values(), *(rank.text for rank in reversed(self.suspects))]

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


def job_span(folder: Path) -> tuple[float, float] | None:
    """When the job began and ended, by its own word and the clock of its first node."""
    end = _read_record(folder / "end.json") or {}
    try:
        started, ended = float(end["started"]), float(end["ended"])
    except (ValueError, KeyError, TypeError):
        return None
    return (started, ended) if 0 < started < ended < _LATEST else None


def rank_numbers(folder: Path) -> list[int]:
    return sorted(int(path.stem[5:]) for path in folder.glob("rank-*.log") if path.stem[5:].isdecimal())


def rank_log(folder: Path, number: int) -> Path:
    return folder / f"rank-{number}.log"


def read_rank_log(path: Path, number: int, dialect: Dialect, window: Window, logs: int) -> Digest:
    """`logs` is how many there are of all repeats. A dialect whose lines do not say who writes is told."""
    log = LogFile(path)
    reading = dialect.read(log, window, {} if dialect.says_start else {"rank": number})
    return as_digest(PurePath(path.name), dialect.name, reading, reading.facts, [path], logs=logs)


def read_repeat(folder: Path, logs: Mapping[int, Digest], ranks_per_node: int) -> Repeat:
    """`logs` are those of its ranks."""
    offsets = list(clock_offsets(folder).values())
    earlier = [path for path in folder.glob("attempt-*") if re.fullmatch(r"attempt-\d+", path.name)]
    return Repeat(
        job=_read_record(folder / "job.json"),
        end=_read_record(folder / "end.json"),
        folder=folder,
        ranks=[_rank(folder, number, log, offsets[number // ranks_per_node :]) for number, log in sorted(logs.items())],
        attempts=len(earlier) + 1,
    )


def _rank(folder: Path, number: int, log: Digest, offsets: Sequence[float | None]) -> Rank:
    """`offsets` are those of the clocks of its node and of the nodes after it, as far as they are known."""
    kept = folder / f"rank-{number}.exit"
    exit_status = (_read_text(kept) or "").strip() or None
    ended, ahead = kept.stat().st_mtime if exit_status else None, next(iter(offsets), None) or 0.0
    return Rank(number, rank_log(folder, number), log, exit_status, ended, ahead)


def _tail(path: Path) -> str:
    try:
        return LogFile(path).tail(_END_OF_LOG)
    except OSError:
        return ""


def _read_record(path: Path) -> Mapping[str, Any] | None:
    try:
        record = json.loads(_read_text(path) or "")
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _read_text(path: Path) -> str | None:
    """A file may hold any bytes; those that are no text must not hide the rest."""
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return None

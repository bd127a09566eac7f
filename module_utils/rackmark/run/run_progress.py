"""How far a run is, from the states of its jobs and the logs they are writing."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Sequence

from ..dialects import Sample, reader
from .job_state import JobState

_HEAD_BYTES = 4096
_TAIL_BYTES = 8192


@dataclass(frozen=True)
class Pace:
    """Where the job's rank 0 is, and how fast all its ranks are, judged by the latest interval."""

    step: int
    steps: int
    rate: float
    seconds_left: float


def progress(jobs: Sequence[Mapping[str, Any]], plan: Mapping[str, Any], states: Mapping[str, JobState]) -> str:
    running = [job for job in jobs if job["name"] in states and states[job["name"]].state == "RUNNING"]
    done = [job for job in jobs if job["name"] in states and states[job["name"]].finished]
    waiting = [job for job in jobs if job not in running and job not in done]
    paces = {job["name"]: pace_of(job, plan) for job in running}
    parts = [f"{len(done)} of {len(jobs)} jobs done"]
    parts += [f"{job['case']} r{job['repeat']} {_at_work(paces[job['name']], plan['unit'])}" for job in running]
    if waiting:
        parts.append(f"{len(waiting)} waiting{_why(waiting, running, states)}")
    left = _seconds_left(done, waiting, states, paces)
    if left is not None:
        parts.append(f"about {_duration(left)} left")
    return "; ".join(parts)


def pace_of(job: Mapping[str, Any], plan: Mapping[str, Any]) -> Pace | None:
    samples = _latest(Path(job["folder"]) / "rank-0.log", str(plan["dialect"]))
    if not samples:
        return None
    last = samples[-1]
    steps = int(plan["warmup"]) + int(plan["steps"])
    ranks = int(job["nodes"]) * int(job["devices_per_node"])
    per_step = statistics.median(sample.seconds / sample.steps for sample in samples)
    return Pace(last.step, steps, last.samples * ranks / last.seconds, per_step * max(0, steps - last.step))


def _latest(log: Path, dialect: str) -> Sequence[Sample]:
    """The samples in the end of a log. Its beginning is read as well, for what the rank says of itself there."""
    try:
        with log.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            file.seek(max(len(head), log.stat().st_size - _TAIL_BYTES))
            tail = file.read()
    except OSError:
        return []
    return reader(dialect)((head + b"\n" + tail).decode(errors="replace")).samples[-20:]


def _at_work(pace: Pace | None, unit: str) -> str:
    return "starting" if pace is None else f"step {pace.step}/{pace.steps}, {pace.rate:.4g} {unit}"


def _why(
    waiting: Sequence[Mapping[str, Any]], running: Sequence[Mapping[str, Any]], states: Mapping[str, JobState]
) -> str:
    """Slurm's reason, where nothing of this run is running that would explain it."""
    reasons = {states[job["name"]].reason for job in waiting if job["name"] in states}
    known = sorted(reason for reason in reasons if reason and reason not in ("Dependency", "None", "Priority"))
    return f" ({', '.join(known)})" if known and not running else ""


def _seconds_left(
    done: Sequence[Mapping[str, Any]],
    waiting: Sequence[Mapping[str, Any]],
    states: Mapping[str, JobState],
    paces: Mapping[str, Pace | None],
) -> float | None:
    """Jobs that have not begun take as long as those that are done; None before one is done."""
    known = [pace.seconds_left for pace in paces.values() if pace is not None]
    if not waiting:
        return max(known) if known and len(known) == len(paces) else None
    took = [
        state.end - state.start
        for state in (states[job["name"]] for job in done)
        if state.start is not None and state.end is not None and state.state == "COMPLETED"
    ]
    if not took:
        return None
    at_once = max(1, len(paces))
    return max(known, default=0.0) + statistics.fmean(took) * len(waiting) / at_once


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"

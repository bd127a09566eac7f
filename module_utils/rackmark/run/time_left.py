"""How long a run still takes: by what its jobs took, and before one is done by how fast those are that run."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Callable, Mapping, Sequence

from .job_state import JobState
from .pace import Pace
from .run_plan import Job, RunPlan


@dataclass(frozen=True)
class Jobs:
    """The jobs of a run by what they are at, and how fast those are whose logs tell it."""

    done: Sequence[Job]
    running: Sequence[Job]
    waiting: Sequence[Job]
    states: Mapping[str, JobState]
    paces: Mapping[str, Pace]


def steps_of(plan: RunPlan) -> int | None:
    """None where nobody knows beforehand how many there will be."""
    return plan.warmup + plan.steps if plan.measure == "steps" else None


def seconds_left(plan: RunPlan, jobs: Jobs, now: float | None) -> float | None:
    """`now` is by the clock of the host that asked. None where nothing tells it yet."""
    expected = _by_those_done(jobs) or _by_those_running(plan, jobs, now)
    of_running = [_of_running(job, plan, jobs, expected, now) for job in jobs.running]
    known = [seconds for seconds in of_running if seconds is not None]
    if not jobs.waiting:
        return max(known) if known and len(known) == len(of_running) else None
    of_waiting = [seconds for seconds in map(expected, jobs.waiting) if seconds is not None]
    if len(of_waiting) < len(jobs.waiting):
        return None
    return max(known, default=0.0) + sum(of_waiting) / max(1, len(jobs.running))


def _by_those_done(jobs: Jobs) -> Callable[[Job], float | None] | None:
    took = [
        state.end - state.start
        for state in (jobs.states[job.name] for job in jobs.done)
        if state.start is not None and state.end is not None and state.state == "COMPLETED"
    ]
    mean = statistics.fmean(took) if took else None
    return None if mean is None else lambda job: mean


def _by_those_running(plan: RunPlan, jobs: Jobs, now: float | None) -> Callable[[Job], float | None]:
    """What it takes them to begin, and then as many steps, each as long as its batch: that is how a job with fewer or
    more devices differs when all share one batch."""

    def expected(job: Job) -> float | None:
        found = [_by_one_running(one, job, plan, jobs, now) for one in jobs.running]
        known = [seconds for seconds in found if seconds is not None]
        return statistics.fmean(known) if known else None

    return expected


def _by_one_running(one: Job, job: Job, plan: RunPlan, jobs: Jobs, now: float | None) -> float | None:
    pace, steps = jobs.paces.get(one.name), steps_of(plan)
    if pace is None or pace.step_seconds is None or steps is None:
        return None
    begun = _elapsed(one, jobs, now)
    to_begin = 0.0 if begun is None else max(0.0, begun - pace.steps * pace.step_seconds)
    batches = [plan.case_of(each).batch_per_device for each in (job, one)]
    share = batches[0] / batches[1] if batches[0] and batches[1] else 1.0
    return to_begin + steps * pace.step_seconds * share


def _of_running(
    job: Job, plan: RunPlan, jobs: Jobs, expected: Callable[[Job], float | None], now: float | None
) -> float | None:
    pace, steps = jobs.paces.get(job.name), steps_of(plan)
    if pace is not None and pace.step_seconds is not None and steps is not None:
        return pace.step_seconds * max(0, steps - pace.steps)
    whole, begun = expected(job), _elapsed(job, jobs, now)
    return None if whole is None or begun is None else max(0.0, whole - begun)


def _elapsed(job: Job, jobs: Jobs, now: float | None) -> float | None:
    start = jobs.states[job.name].start
    return None if start is None or now is None else max(0.0, now - start)

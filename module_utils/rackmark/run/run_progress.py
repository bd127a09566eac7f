"""How far a run is, from the states of its jobs and the logs they are writing."""

from __future__ import annotations

from typing import Iterable, Mapping, Sequence

from ..dialects.catalog import dialect_named
from ..logs.log_file import plain
from ..logs.printable import printable
from ..terminal import shortened
from .job_state import JobState
from .measures import KINDS_OF_STEPS
from .pace import Pace, pace
from .run_plan import Job, RunPlan
from .search_progress import search_in_words
from .time_left import Jobs, seconds_left, steps_of

ROOM = 109  # columns for a line in a log
_LINE = 60  # columns for the last line of a log
_USUAL_REASONS = ("Dependency", "None", "Priority")


def progress(
    plan: RunPlan,
    states: Mapping[str, JobState],
    logs: Mapping[str, tuple[bytes, bytes]],
    now: float | None = None,
    room: int = ROOM,
) -> str:
    """`logs` are begin and end of what rank 0 of running jobs has logged; there may be more that run. `now` is the time
    where the jobs are, `room` the columns that the line may have."""
    running = [job for job in plan.jobs if job.name in states and states[job.name].state == "RUNNING"]
    done = [job for job in plan.jobs if job.name in states and states[job.name].finished]
    ending = [job for job in plan.jobs if job.name in states and states[job.name].state == "COMPLETING"]
    waiting = [job for job in plan.jobs if job not in running and job not in done and job not in ending]
    shown = [job for job in running if job.name in logs]
    paces = {job.name: found for job in shown if (found := pace_of(job, plan, *logs[job.name]))}
    left = seconds_left(plan, Jobs(done, running, waiting, states, paces), now)
    first = f"{len(done)} of {len(plan.jobs)} jobs done"
    if left is not None:
        first += f", about {_duration(left)} {'left' if running else 'once they run'}"
    others = [f"{len(ending)} ending"] if ending else []
    if not running:
        why = reasons_to_wait(states.values())
        said = f"{len(waiting)} waiting" + (f" ({', '.join(why)})" if why else "")
        return "; ".join([first, *others, *([said] if waiting else [])])
    others += [f"{len(waiting)} waiting"] if waiting else []
    at_work = [
        [f"{job.case} r{job.repeat} {_at_work(paces.get(job.name), plan, rate, logs[job.name][1])}" for job in shown]
        for rate in (True, False)
    ]
    return _fullest(first, at_work, len(running), others, room)


def _fullest(first: str, at_work: Sequence[Sequence[str]], running: int, others: Sequence[str], room: int) -> str:
    """The line that says most in this room: how many others there are can be told from the rest, then fewer jobs are
    shown, then no rates. `at_work` is what running jobs do, with and without."""
    with_rates, without = at_work
    lines = []
    for begin, words in ((first, with_rates), (first.replace(" jobs done", " done"), with_rates), (first, without)):
        for count in range(len(words), min(1, len(words)) - 1, -1):
            more = [f"{running - count} more running"] if running > count else []
            lines += [[begin, *words[:count], *more, *others], [begin, *words[:count], *more]]
    lines.append([first, *without[:1]])
    joined = list(map("; ".join, lines))
    return next((line for line in joined if len(line) <= room), joined[-1])


def pace_of(job: Job, plan: RunPlan, head: bytes, tail: bytes) -> Pace | None:
    """By what the first process logs."""
    processes = {"node": job.nodes, "job": 1}.get(plan.ranks, job.nodes * job.devices_per_node)
    return pace(head, tail, dialect_named(plan.dialect), processes, plan.case_of(job).batch_per_device)


def _at_work(pace: Pace | None, plan: RunPlan, with_rate: bool, tail: bytes) -> str:
    if pace is None and plan.result == "ais-bench" and (line := _last_line(tail)):
        return f"says: {line}"
    if pace is None:
        return "starting" if plan.measure in KINDS_OF_STEPS else "at work"
    if pace.progress:
        return search_in_words(pace.progress, plan.duration)
    if pace.trials:
        return f"{pace.trials} trials done"
    all_steps = steps_of(plan)
    rate = "" if pace.rate is None or not with_rate else f", {_digits(pace.rate)} {_unit(plan)}"
    return f"step {pace.steps}{'' if all_steps is None else f'/{all_steps}'}{rate}"


def _last_line(tail: bytes) -> str:
    """Of a training of which nothing else is known here."""
    lines = [line.strip() for line in plain(tail).splitlines() if line.strip()]
    return shortened(printable(lines[-1].decode(errors="replace")), _LINE) if lines else ""


def _digits(rate: float) -> str:
    return f"{rate:.4g}" if rate < 10000 else f"{rate:.0f}"


def _unit(plan: RunPlan) -> str:
    """Of the rate of steps, which need not be the headline."""
    return next((measure.unit for measure in plan.measures.values() if measure.source == "throughput"), "samples/s")


def reasons_to_wait(states: Iterable[JobState]) -> list[str]:
    """The queue's, where nothing of this run is running that would explain it."""
    known = list(states)
    if any(state.state == "RUNNING" for state in known):
        return []
    reasons = {state.reason for state in known if not state.finished and state.state != "COMPLETING"}
    return sorted(reason for reason in reasons if reason and reason not in _USUAL_REASONS)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"

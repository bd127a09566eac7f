"""How the jobs of a run are: asked of their queue once for all, and kept when they have ended, for queues forget."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import AbstractSet, Collection, Dict, Mapping, Sequence

from ..node.job_record import RecordError, read_record
from .job_end import end_of, is_over, own_word
from .job_state import GIVEN_UP_HOPELESS, JobState, read_state, write_state
from .queues.queue import FOLLOWING, Queue, QueuedJob

PAUSE = 0.3
LAST_WORD = 3.0  # seconds that a queue gets for its word on a job that wrote down its end
MOST_LOGS = 16
HEAD_BYTES = 4096
TAIL_BYTES = 8192
QUIET = 30.0  # seconds without a sample of a node, and three times as long as its samples are apart

States = Dict[str, JobState]


@dataclass(frozen=True)
class Followed:
    """`over` are jobs that have ended and can be judged, `unreadable` says which folders cannot be read, and why, and
    `stuck` which jobs wait for somebody to do something, and what.

    `answered` is whether there is more to learn than that folders cannot be read.
    """

    states: States
    over: AbstractSet[str]
    stuck: Mapping[str, str]
    unreadable: Mapping[str, str]

    @property
    def answered(self) -> bool:
        return not self.unreadable or bool(self.states.keys() - self.over - self.unreadable.keys())


def follow(queue: Queue, jobs: Sequence[QueuedJob], give_up: Collection[str], only_ask: bool) -> Followed:
    """Cancels jobs that can never start, and those of `give_up` that are stuck."""
    states = ask_until_settled(queue, jobs)
    stuck: Mapping[str, str] = {}
    if not only_ask:
        stuck = end_hopeless(queue, jobs, states, give_up)
    over, unreadable = set(), {}
    for job in jobs:
        state = states.get(job.name)
        try:
            if is_over(job.folder, state):
                over.add(job.name)
        except OSError as error:
            unreadable[job.name] = f"{job.folder} cannot be read: {error.strerror}"
            continue
        if state is not None and job.name in over and not only_ask:
            keep_last_word(queue, job, state)
    return Followed(states, over, {name: why for name, why in stuck.items() if name not in over}, unreadable)


def wait_for_an_end(jobs: Sequence[QueuedJob], seconds: float) -> None:
    """Looking for files is cheap where asking a queue is not."""
    folders = [job.folder for job in jobs if not _seen_to_end(job.folder)]
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not any(map(_seen_to_end, folders)):
        time.sleep(PAUSE)


def ask_until_settled(queue: Queue, jobs: Sequence[QueuedJob]) -> States:
    deadline = time.monotonic() + LAST_WORD
    while True:
        states = _ask(queue, jobs)
        open_jobs = [job for job in jobs if job.name in states and not states[job.name].finished]
        ended = [job for job in open_jobs if _seen_to_end(job.folder)]
        if not ended or time.monotonic() > deadline:
            return states
        time.sleep(PAUSE)


def end_hopeless(
    queue: Queue, jobs: Sequence[QueuedJob], states: States, give_up: Collection[str]
) -> Mapping[str, str]:
    """Changes the states of the jobs that it cancels, and returns why jobs are stuck."""
    stuck = queue.stuck(jobs, states)
    reasons = {name: (GIVEN_UP_HOPELESS, reason) for name, reason in queue.hopeless(states).items()}
    reasons.update({name: (stuck[name].word, stuck[name].reason) for name in give_up if name in stuck})
    given_up = {name: states[name] for name in reasons if name in states and not states[name].finished}
    queue.cancel(given_up)
    for name, state in given_up.items():
        word, reason = reasons[name]
        states[name] = replace(state, state=word, reason=reason)
    return {name: each.reason for name, each in stuck.items()}


def keep_last_word(queue: Queue, job: QueuedJob, state: JobState) -> None:
    """Ends what is left of a job that is over and still shows as running."""
    if read_state(job.folder) is not None:
        return
    last = queue.last_word(state)
    if last is None or not last.finished:
        last = None if last is None else own_word(job.folder, last)
    with suppress(OSError):  # the disk is full: the job's own record of its end has to do
        if last is not None:
            write_state(job.folder, last)
    if state.state == "RUNNING" and last is not None:
        queue.cancel({job.name: state})


def logs_of_running(jobs: Sequence[QueuedJob], states: Mapping[str, JobState]) -> dict[str, tuple[bytes, bytes]]:
    """Begin and end of what a rank has logged, of as many jobs as a line on them has room for."""
    running = [job for job in jobs if job.name in states and states[job.name].state == "RUNNING"]
    return {job.name: _ends_of(_telling_log(job)) for job in running[:MOST_LOGS]}


def _telling_log(job: QueuedJob) -> Path:
    """Rank 0's, unless the others go on without it: each of them tells how far all are."""
    first = job.folder / "rank-0.log"
    if not first.exists() and (job.folder / FOLLOWING).exists():
        return job.folder / FOLLOWING
    with suppress(OSError):
        if job.independent and time.time() - first.stat().st_mtime > QUIET:
            return max(job.folder.glob("rank-*.log"), key=lambda log: log.stat().st_mtime)
    return first


def quiet_nodes(jobs: Sequence[QueuedJob], states: Mapping[str, JobState]) -> dict[str, dict[str, float]]:
    """Nodes of running jobs that have written no sample for long, and for how many seconds."""
    running = [job for job in jobs if job.name in states and states[job.name].state == "RUNNING"]
    found = {job.name: _quiet_in(job.folder) for job in running[:MOST_LOGS]}
    return {name: nodes for name, nodes in found.items() if nodes}


def _quiet_in(folder: Path) -> dict[str, float]:
    try:
        apart = read_record(folder).telemetry
        written = {path: path.stat().st_mtime for path in folder.glob("telemetry-*.jsonl")}
    except (OSError, RecordError):
        return {}
    now = max([time.time(), *written.values()])
    ages = {path.stem.partition("-")[2]: now - moment for path, moment in written.items()}
    return {node: round(age) for node, age in sorted(ages.items()) if age > QUIET + 3 * apart}


def _ask(queue: Queue, jobs: Sequence[QueuedJob]) -> States:
    """The last word that was written down stands; the rest is asked of the queue, then of what remembers longer."""
    on_record = {job.name: read_state(job.folder) for job in jobs}
    states = {name: state for name, state in on_record.items() if state is not None and state.finished}
    unknown = [name for name in on_record if name not in states]
    if unknown:
        states.update(queue.states(unknown))
        states.update(queue.remembered([name for name in unknown if name not in states]))
    return states


def _seen_to_end(folder: Path) -> bool:
    try:
        return end_of(folder) is not None
    except OSError:
        return False


def _ends_of(log: Path) -> tuple[bytes, bytes]:
    try:
        with log.open("rb") as file:
            head = file.read(HEAD_BYTES)
            file.seek(max(len(head), log.stat().st_size - TAIL_BYTES))
            return head, file.read(TAIL_BYTES)
    except OSError:
        return b"", b""

"""Jobs of several runs that take turns: what drifts while they are measured is in all of them alike."""

from __future__ import annotations

from itertools import zip_longest
from typing import Mapping, NamedTuple, Sequence, TypeVar

from .job_state import JobId, JobState, QueueError
from .queues.queue import Queue, QueuedJob

Entry = TypeVar("Entry")


class Waiting(NamedTuple):
    """Jobs of one run that are to be submitted; its queue shows the names of some that are over."""

    queue: Queue
    jobs: Sequence[QueuedJob]
    leftovers: Sequence[str]


def in_turns(rows: Sequence[Sequence[Entry]]) -> list[Entry]:
    """The first of every row, then the second of every row, and so on."""
    return [entry for column in zip_longest(*rows) for entry in column if entry is not None]


def submit_in_turns(runs: Sequence[Waiting]) -> dict[str, JobId]:
    """All of them or none. Without a scheduler jobs of two runs alternate by themselves, one at a time."""
    ids: dict[str, JobId] = {}
    try:
        if all(run.queue.traits.alternates for run in runs):
            for run in runs:
                ids.update(run.queue.submit(run.jobs, (), True, run.leftovers))
            return ids
        previous: Sequence[JobId] = ()
        for run, job in in_turns([[(run, job) for job in run.jobs] for run in runs]):
            submitted = run.queue.submit([job], previous, True, run.leftovers)
            ids.update(submitted)
            previous = list(submitted.values())
    except QueueError:
        _take_back(runs, ids)
        raise
    return ids


def _take_back(runs: Sequence[Waiting], ids: Mapping[str, JobId]) -> None:
    for run in runs:
        run.queue.cancel(
            {job.name: JobState(ids[job.name], job.name, "PENDING") for job in run.jobs if job.name in ids}
        )

"""Whether the clocks of a search's nodes agree. A score is made of times that each node took from its own clock: of one
that is wrong, or was set meanwhile, epochs count where they were not."""

from __future__ import annotations

from typing import Iterator, Mapping

from .experiment import Experiment
from .search_history import SearchHistory

_MOST_NAMED = 5
A_MINUTE = 60.0
_LATEST_BEGIN = 1800.0  # workers of an attempt begin together
_LONGEST_END = 600.0


def clock_problems(
    experiment: Experiment, history: SearchHistory, offsets: Mapping[str, float | None], seconds: float
) -> list[str]:
    """`offsets` are seconds by which clocks of nodes were ahead of the first one's when the job began, `seconds` are
    those of the whole search."""
    found = [
        *_apart(offsets, min(A_MINUTE, max(5.0, 0.01 * seconds))),
        *_epochs_elsewhere(experiment, history),
        *_set_back(history),
        *_outside_of_attempts(history),
    ]
    more = [f"{len(found) - _MOST_NAMED} more times of that kind are wrong."] if len(found) > _MOST_NAMED else []
    return [*found[:_MOST_NAMED], *more]


def _apart(offsets: Mapping[str, float | None], allowed: float) -> Iterator[str]:
    first = next(iter(offsets), None)
    for node, offset in offsets.items():
        if offset is not None and abs(offset) > allowed:
            yield (
                f"The clock of {node} was {_span(offset)} {'ahead of' if offset > 0 else 'behind'} that of {first}:"
                " their epochs cannot be put on one line of time. Set the clocks, e.g. with chrony, and run it again."
            )


def _epochs_elsewhere(experiment: Experiment, history: SearchHistory) -> Iterator[str]:
    known = {trial.seq: trial for trial in history.trials}
    for trial in experiment.trials:
        recorded = known.get(-1 if trial.sequence is None else trial.sequence)
        ends = [epoch.ended for training in trial.trainings for epoch in training.epochs]
        if recorded is None or not ends:
            continue
        if recorded.ended is not None and max(ends) > recorded.ended + A_MINUTE:
            late = _span(max(ends) - recorded.ended)
            yield f"An epoch of trial {trial.name} ended {late} after the trial: the clock of its node was set."
        elif recorded.began is not None and min(ends) < recorded.began - A_MINUTE:
            early = _span(recorded.began - min(ends))
            yield f"An epoch of trial {trial.name} ended {early} before the trial began: the clock of its node was set."


def _set_back(history: SearchHistory) -> Iterator[str]:
    for worker, records in history.records.items():
        times = [record["time"] for _, record in records]
        back = max((before - after for before, after in zip(times, times[1:])), default=0.0)
        if back > A_MINUTE:
            yield f"The clock of worker {worker} was set back by {_span(back)} while it searched."


def _outside_of_attempts(history: SearchHistory) -> Iterator[str]:
    """An attempt begins with its first trial, and all workers end at its deadline."""
    attempts = {attempt.number: attempt for attempt in history.attempts}
    for worker, records in history.records.items():
        begun = set()
        for number, record in records:
            attempt, time = attempts[number], record["time"]
            is_first = record["event"] == "started" and number not in begun
            if attempt.began is None:
                continue
            if is_first:
                begun.add(number)
            if is_first and time < attempt.began - A_MINUTE:
                early = _span(attempt.began - time)
                yield f"Worker {worker} began {early} before the first one: its clock is behind, or was set."
            elif is_first and time > attempt.began + _LATEST_BEGIN:
                late = _span(time - attempt.began)
                yield f"Worker {worker} began {late} after the first one: its clock is ahead, or its node was late."
            elif time > attempt.deadline + _LONGEST_END:
                yield f"Worker {worker} went on for {_span(time - attempt.deadline)} after the end of the search."
                break


def _span(seconds: float) -> str:
    return f"{abs(seconds) / 60:.0f} min" if abs(seconds) >= 2 * A_MINUTE else f"{abs(seconds):.0f} s"

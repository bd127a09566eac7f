"""The numbers that a workload declares, from what the logs of a repeat hold."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import Callable, Mapping, NamedTuple, Sequence

from ..logs.digest import Digest
from ..run.measures import STATED, TRIALS, Measure

_OVER: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "mean": fmean,
    "median": median,
    "min": min,
    "max": max,
    "first": lambda values: values[0],
}
_WHY_NOT = {
    "throughput": "The logs do not tell how many samples were trained in which time.",
    "whole": "The logs do not tell when the training began and ended.",
    "no_eval": "The logs do not tell when the training began and ended.",
    "loss": "The logs hold no loss.",
    "accuracy": "The logs hold no evaluation.",
    "time_to_target": "The logs do not tell when the target was reached.",
}


class Measured(NamedTuple):
    """Without a value there is a reason."""

    value: float | None
    reason: str | None = None


def measured(measure: Measure, known: Mapping[str, Measured], logs: Sequence[Digest]) -> Measured:
    """`known` are the numbers that steps, evaluations and experiments give, by their names as sources."""
    if measure.source in known and measure.source.startswith(STATED):
        return known[measure.source]
    if measure.source.startswith(STATED):
        values = [log.stated[measure.word] for log in logs if measure.word in log.stated]
        why = next((log.unstated[measure.word] for log in logs if measure.word in log.unstated), None)
        return _over(measure, values, why or f"No log states {measure.word}.")
    if measure.source == "trials":
        return Measured(float(good_trials(logs)))
    if measure.source == "trials.failed":
        return Measured(float(sum(not trial.is_good for log in logs for trial in log.trials)))
    if measure.source.startswith(TRIALS):
        good = [trial.values for log in logs for trial in log.trials if trial.is_good]
        values = [found[measure.word] for found in good if measure.word in found]
        return _over(measure, values, f"No trial that is ok has a number {measure.word}.")
    value, reason = known.get(measure.source, Measured(None))
    if value is not None:
        return Measured(value)
    return Measured(None, reason or _WHY_NOT.get(measure.source, "Nothing measures it."))


def good_trials(logs: Sequence[Digest]) -> int:
    return sum(trial.is_good for log in logs for trial in log.trials)


def _over(measure: Measure, values: Sequence[float], none: str) -> Measured:
    if not values:
        return Measured(None, none)
    return Measured(float(_OVER[measure.over](values)))

"""MLPerf's result of several runs of one system: the olympic mean of their times to train.

The fastest and the slowest run are left out (four of each where a result takes 40 runs), the result is the mean of the
others. A run that did not reach its target is a slowest one, and there may be no more of them than are left out. How
many runs a result takes is the benchmark's rule; which runs belong to it is decided before they start, so more of them
than that give no result either.
"""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple, Sequence

RUNS = 5  # of ResNet and the other benchmarks of vision; those of language take 10


class OlympicMean(NamedTuple):
    """Without `seconds` there is a `reason`."""

    seconds: float | None
    reason: str | None


def olympic_mean(seconds: Sequence[float | None], runs: int = RUNS) -> OlympicMean:
    """None is the time of a run that did not reach its target."""
    if runs < 3:
        raise ValueError(f"An olympic mean of {runs} runs has nothing left without the fastest and the slowest.")
    left_out = max(1, runs // 10)
    reached = sorted(time for time in seconds if time is not None)
    reason = _why_none(len(seconds), reached, runs, left_out)
    if reason is not None:
        return OlympicMean(None, reason)
    return OlympicMean(statistics.fmean(reached[left_out : runs - left_out]), None)


def _why_none(count: int, reached: Sequence[float], runs: int, left_out: int) -> str | None:
    if not all(0 < time < math.inf for time in reached):
        return "A time to train is not a number of seconds above zero."
    if count != runs:
        return f"The result takes {runs} runs, there are {count}."
    missed = runs - len(reached)
    if missed > left_out:
        return f"{missed} of {runs} runs did not reach their target: no more than {left_out} may be left out for that."
    return None

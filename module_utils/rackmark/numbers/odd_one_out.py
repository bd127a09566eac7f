"""Which of several that should be alike is not: the one far from the median of all, by the spread of the others."""

from __future__ import annotations

from statistics import median
from typing import Mapping, TypeVar

FEWEST = 3  # of two, nobody can tell which is the odd one
DEVIATIONS = 5  # robust standard deviations
DEVIATIONS_IN_MAD = 1.4826

_Name = TypeVar("_Name")


def odd_ones(values: Mapping[_Name, float], least: float) -> dict[_Name, float]:
    """Those that are further than `least` from the median, which comes with them, and stand out from the spread."""
    if len(values) < FEWEST:
        return {}
    middle = median(values.values())
    spread = median(abs(value - middle) for value in values.values()) * DEVIATIONS_IN_MAD
    farthest = max(least, DEVIATIONS * spread)
    return {name: middle for name, value in values.items() if abs(value - middle) > farthest}

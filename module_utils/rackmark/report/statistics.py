"""Statistics over the repeats of a case. There are few repeats, so intervals use Student's t."""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple, Sequence

# Quantiles of Student's t at 97.5 % for 1 to 30 degrees of freedom.
_T_975 = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281),
    *(2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860),
    *(2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423),
)
_NORMAL_975 = 1.959964


class Interval(NamedTuple):
    low: float
    high: float


def mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value that `share` of the values do not exceed; between two values in proportion."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def t_quantile_975(degrees_of_freedom: float) -> float:
    """Rounds fractional degrees of freedom down, which can only widen an interval."""
    whole = math.floor(degrees_of_freedom + 1e-9)
    if whole <= len(_T_975):
        return _T_975[whole - 1]
    z = _NORMAL_975
    return z + (z**3 + z) / (4 * whole) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * whole**2)


def mean_interval(values: Sequence[float]) -> Interval | None:
    """95 % t interval of the mean; none below two values."""
    if len(values) < 2:
        return None
    centre = statistics.fmean(values)
    half = t_quantile_975(len(values) - 1) * math.sqrt(_squared_error(values))
    return Interval(centre - half, centre + half)


def ratio_of_medians(values: Sequence[float], baseline: Sequence[float]) -> float:
    return statistics.median(values) / statistics.median(baseline)


def ratio_interval(values: Sequence[float], baseline: Sequence[float]) -> Interval | None:
    """95 % interval of median(values) / median(baseline); none when either has fewer than two values.

    A t interval on the logarithm of the ratio, turned back: centred on the ratio of the medians, as wide as the
    standard error of the difference of the mean logarithms, with Welch's degrees of freedom. All values are positive.
    """
    if len(values) < 2 or len(baseline) < 2:
        return None
    ratio = ratio_of_medians(values, baseline)
    errors = [_squared_error([math.log(value) for value in group]) for group in (values, baseline)]
    total = sum(errors)
    if total == 0:
        return Interval(ratio, ratio)
    welch = total**2 / (errors[0] ** 2 / (len(values) - 1) + errors[1] ** 2 / (len(baseline) - 1))
    factor = math.exp(t_quantile_975(welch) * math.sqrt(total))
    return Interval(ratio / factor, ratio * factor)


def _squared_error(values: Sequence[float]) -> float:
    """The square of the standard error of the mean."""
    return statistics.variance(values) / len(values)

"""Statistics over the repeats of a case: few positive numbers, whose order means nothing.

From five repeats on an interval reaches from one of the ordered repeats to another (order statistics), whatever their
distribution. With fewer that would be too narrow: it is Student's t on the logarithms, which never begins below zero.
"""

from __future__ import annotations

import math
import statistics
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple, Sequence

ORDER_STATISTICS = "order statistics"
STUDENT = "Student's t"
ENOUGH_TO_ORDER = 5

# How far from the median an outlier is: in robust standard deviations, and as a share of it. With the usual 3.5 every
# fifth case of five repeats would have one by chance, with 7 it is every twentieth. Less than 1 % is no news, however
# little the others differ.
OUTLIER_DEVIATIONS = 7.0
OUTLIER_SHARE = 0.01
ENOUGH_FOR_OUTLIERS = 4

# Quantiles of Student's t at 97.5 % for 1 to 30 degrees of freedom.
_T_975 = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281),
    *(2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860),
    *(2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423),
)
_NORMAL = statistics.NormalDist()
_DEVIATIONS_IN_MAD = 1 / _NORMAL.inv_cdf(0.75)
_CONFIDENCE = 0.95
_WIDEST = 100.0  # the upper bound over the lower one: what spans orders of magnitude says nothing of where a number is


class Interval(NamedTuple):
    low: float
    high: float


class _Reach(NamedTuple):
    """How far an interval of the median reaches from it, on logarithms."""

    down: float
    up: float


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
    """Between whole degrees of freedom the logarithm is interpolated over their inverse: 3 % too wide at most."""
    if degrees_of_freedom >= len(_T_975):
        z, inverse = _NORMAL.inv_cdf(0.975), 1 / degrees_of_freedom
        return z + (z**3 + z) / 4 * inverse + (5 * z**5 + 16 * z**3 + 3 * z) / 96 * inverse**2
    whole = math.floor(degrees_of_freedom)
    share = (1 / whole - 1 / degrees_of_freedom) * whole * (whole + 1)
    return _T_975[whole - 1] * math.pow(_T_975[whole] / _T_975[whole - 1], share)


def interval_method(count: int) -> str | None:
    """What gives the interval of the median of so many values."""
    if count < 2:
        return None
    return ORDER_STATISTICS if count >= ENOUGH_TO_ORDER else STUDENT


def median_interval(values: Sequence[float]) -> Interval | None:
    """95 % interval of the median; none below two values, if one is not positive, or if it spans powers of ten."""
    reach = _reach(values)
    return _interval(statistics.median(values), *reach) if reach else None


def ratio_of_medians(values: Sequence[float], baseline: Sequence[float]) -> float | None:
    """None where one of the medians is missing, infinite or not positive."""
    medians = [statistics.median(group) if group else 0.0 for group in (values, baseline)]
    return medians[0] / medians[1] if all(0 < middle < math.inf for middle in medians) else None


def ratio_interval(values: Sequence[float], baseline: Sequence[float]) -> Interval | None:
    """95 % interval of the ratio of medians from the uncertainty of both; none where one side has fewer than two values
    or one that is not positive, or if it spans powers of ten."""
    own, base = _reach(values), _reach(baseline)
    if own is None or base is None:
        return None
    freedom = (len(values) - 1, len(baseline) - 1)
    down, up = _together((own.down, base.up), freedom), _together((own.up, base.down), freedom)
    return _interval(statistics.median(values) / statistics.median(baseline), down, up)


def outliers(values: Sequence[float]) -> dict[int, float]:
    """Places of the values that are far from the others, and how far from the median, as a fraction of it.

    Among fewer than four values none is found.
    """
    if len(values) < ENOUGH_FOR_OUTLIERS or statistics.median(values) <= 0:
        return {}
    middle = statistics.median(values)
    distances = [value / middle - 1 for value in values]
    deviation = statistics.median(map(abs, distances)) * _DEVIATIONS_IN_MAD
    farthest = max(OUTLIER_DEVIATIONS * deviation, OUTLIER_SHARE)
    return {place: distance for place, distance in enumerate(distances) if abs(distance) > farthest}


def _interval(centre: float, down: float, up: float) -> Interval | None:
    return Interval(centre / math.exp(down), centre * math.exp(up)) if down + up < math.log(_WIDEST) else None


def _reach(values: Sequence[float]) -> _Reach | None:
    method = interval_method(len(values))
    if method is None or not all(0 < value < math.inf for value in values):
        return None
    logarithms = sorted(map(math.log, values))
    if method == STUDENT:
        return _of_student(logarithms)
    low, high = _between_values(logarithms)
    middle = math.log(statistics.median(values))
    return _Reach(middle - low, high - middle)


def _of_student(logarithms: Sequence[float]) -> _Reach:
    """As wide as the standard error of the mean asks for."""
    error = statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    half = t_quantile_975(len(logarithms) - 1) * error
    return _Reach(half, half)


def _between_values(ordered: Sequence[float]) -> Interval:
    place, share = _place_from_the_ends(len(ordered))
    low, after_low = ordered[place : place + 2]
    before_high, high = ordered[-place - 2 : len(ordered) - place]
    return Interval(low + (after_low - low) * share, high - (high - before_high) * share)


@lru_cache
def _place_from_the_ends(count: int) -> tuple[int, float]:
    """Where a 95 % interval of the median begins among so many ordered values: a place, and a share of the way to the
    next one, by Hettmansperger and Sheather (1986). Five values cover 93.75 % from end to end, and no place more."""
    beyond = list(accumulate(2 * _binomial(place, count) for place in range(count // 2)))
    outer = sum(missed <= 1 - _CONFIDENCE for missed in beyond)
    if outer == 0:
        return 0, 0.0
    spare = (1 - _CONFIDENCE - beyond[outer - 1]) / (beyond[outer] - beyond[outer - 1])
    return outer - 1, (count - outer) * spare / (outer + (count - 2 * outer) * spare)


def _binomial(below: int, count: int) -> float:
    """How likely just so many of the values are below the median."""
    ways = math.lgamma(count + 1) - math.lgamma(below + 1) - math.lgamma(count - below + 1)
    return math.exp(ways - count * math.log(2))


def _together(reaches: tuple[float, float], freedom: tuple[int, int]) -> float:
    """How far the interval of a ratio reaches where those of its two medians reach so far.

    Independent errors add as squares. The more evenly both sides contribute, the more degrees of freedom the sum has:
    from the mean of theirs, weighted by themselves, if one side is all there is, to twice as many.
    """
    smaller, larger = sorted(reaches)
    if smaller <= 0:
        return larger
    sides = (1 + (smaller / larger) ** 2) ** 2 / (1 + (smaller / larger) ** 4)
    mean_freedom = sum(one**2 for one in freedom) / sum(freedom)
    return math.hypot(*reaches) * t_quantile_975(sides * mean_freedom) / t_quantile_975(mean_freedom)

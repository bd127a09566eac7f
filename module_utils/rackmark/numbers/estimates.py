"""Statistics over the repeats of a case: few positive numbers, whose order means nothing.

From five repeats on an interval comes from a bootstrap with a fixed seed: the same repeats always give the same one.
With fewer there is too little to draw from: it is Student's t on the logarithms, which never begins below zero.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, NamedTuple, Sequence

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

BOOTSTRAP = "bootstrap"
STUDENT = "Student's t"
ENOUGH_TO_RESAMPLE = 5
RESAMPLES = 10_000
SEED = 1

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
_DRAWN_AT_A_TIME = 1_000_000
_WIDEST = 100.0  # the upper bound over the lower one: what spans orders of magnitude says nothing of where a number is


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
    z = _NORMAL.inv_cdf(0.975)
    return z + (z**3 + z) / (4 * whole) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * whole**2)


def interval_method(*counts: int) -> str | None:
    """What gives the interval of the median of so many values, or of the ratio of two such medians."""
    if min(counts) < 2:
        return None
    return BOOTSTRAP if min(counts) >= ENOUGH_TO_RESAMPLE else STUDENT


def median_interval(values: Sequence[float]) -> Interval | None:
    """95 % interval of the median; none below two values, if one is not positive, or if it spans powers of ten."""
    method = _possible(values)
    if method == BOOTSTRAP:
        return _percentiles(_resampled_medians(values, stream=0), len(values) - 1)
    return _on_logarithms(statistics.median(values), [values]) if method else None


def ratio_of_medians(values: Sequence[float], baseline: Sequence[float]) -> float | None:
    """None where one of the medians is missing, infinite or not positive."""
    medians = [statistics.median(group) if group else 0.0 for group in (values, baseline)]
    return medians[0] / medians[1] if all(0 < middle < math.inf for middle in medians) else None


def ratio_interval(values: Sequence[float], baseline: Sequence[float]) -> Interval | None:
    """95 % interval of the ratio of medians from the uncertainty of both; none where either has no interval."""
    method = _possible(values, baseline)
    if method is None:
        return None
    if method == STUDENT:
        return _on_logarithms(statistics.median(values) / statistics.median(baseline), [values, baseline])
    import numpy as np

    own, base = (_resampled_medians(group, stream) for stream, group in enumerate((values, baseline)))
    errors = [float(np.var(np.log(medians))) for medians in (own, base)]
    return _percentiles(own / base, _freedom(errors, [len(values), len(baseline)]))


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


def _possible(*groups: Sequence[float]) -> str | None:
    method = interval_method(*map(len, groups))
    return method if all(0 < value < math.inf for group in groups for value in group) else None


def _on_logarithms(centre: float, groups: Sequence[Sequence[float]]) -> Interval | None:
    """As wide as the standard error of the mean logarithm, or of the difference of two, with Welch's freedom."""
    errors = [statistics.variance([math.log(value) for value in group]) / len(group) for group in groups]
    half = t_quantile_975(_freedom(errors, [len(group) for group in groups])) * math.sqrt(sum(errors))
    return Interval(centre / math.exp(half), centre * math.exp(half)) if half < math.log(_WIDEST) / 2 else None


def _resampled_medians(values: Sequence[float], stream: int) -> NDArray[float64]:
    """Sorted first, so that the order of the values means nothing. Another `stream` draws independently."""
    import numpy as np

    ordered, count = np.sort(np.asarray(values, dtype=float)), len(values)
    draw = np.random.default_rng([SEED, stream])
    at_a_time = max(1, _DRAWN_AT_A_TIME // count)
    medians = [
        np.median(ordered[draw.integers(count, size=(min(at_a_time, RESAMPLES - done), count))], axis=1)
        for done in range(0, RESAMPLES, at_a_time)
    ]
    return np.concatenate(medians)


def _percentiles(resampled: NDArray[float64], freedom: float) -> Interval | None:
    """Plain percentiles are too narrow for few values: these are as far apart as Student's t asks for."""
    import numpy as np

    whole = math.floor(freedom + 1e-9)
    below = _NORMAL.cdf(-math.sqrt((whole + 1) / whole) * t_quantile_975(whole))
    low, high = np.quantile(resampled, [below, 1 - below])
    return Interval(float(low), float(high)) if high < low * _WIDEST else None


def _freedom(errors: Sequence[float], counts: Sequence[int]) -> float:
    """Welch's degrees of freedom of a sum with these squared standard errors."""
    if sum(errors) == 0:
        return min(counts) - 1
    return sum(errors) ** 2 / sum(error**2 / (count - 1) for error, count in zip(errors, counts))

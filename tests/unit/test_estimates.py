from __future__ import annotations

import math
import random

import pytest
from rackmark.numbers import estimates


def test_without_values_there_is_no_mean_and_no_median():
    assert estimates.mean([]) is None
    assert estimates.median([]) is None


def test_median_and_mean():
    assert estimates.median([3.0, 1.0, 10.0]) == 3.0
    assert estimates.median([1.0, 2.0, 4.0, 10.0]) == 3.0
    assert estimates.mean([1.0, 2.0, 6.0]) == 3.0


def test_quantiles_lie_between_the_values_in_proportion():
    values = [40.0, 10.0, 30.0, 20.0]
    assert estimates.quantile(values, 0.5) == estimates.median(values)
    assert [estimates.quantile(values, share) for share in (0, 0.25, 0.9, 1)] == pytest.approx([10, 17.5, 37, 40])
    assert estimates.quantile([7.0], 0.99) == 7.0
    assert estimates.quantile([], 0.5) is None


# From a printed table of Student's t distribution, two-sided 95 %.
@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [
        *[(1, 12.706), (2, 4.303), (4, 2.776), (10, 2.228), (15, 2.131), (20, 2.086), (25, 2.060), (30, 2.042)],
        *[(31, 2.040), (40, 2.021), (60, 2.000), (120, 1.980), (100000, 1.960)],
    ],
)
def test_t_quantiles_agree_with_the_printed_table(degrees, quantile):
    assert estimates.t_quantile_975(degrees) == pytest.approx(quantile, abs=6e-4)


def within(quantile, degrees):
    """The area under the density between minus and plus the quantile."""
    scale = math.gamma((degrees + 1) / 2) / (math.sqrt(degrees * math.pi) * math.gamma(degrees / 2))
    width = quantile / 1000
    inside = sum((1 + ((i + 0.5) * width) ** 2 / degrees) ** (-(degrees + 1) / 2) for i in range(1000)) * width
    return 2 * scale * inside


def test_every_t_quantile_fits_the_density():
    """A wrong digit in the table shows here."""
    for degrees in [*range(1, 32), 50]:
        assert within(estimates.t_quantile_975(degrees), degrees) == pytest.approx(0.95, abs=2e-5), degrees


@pytest.mark.parametrize("degrees", [1.1, 1.5, 1.9, 2.5, 4.8, 17.3, 29.9, 30.5])
def test_between_whole_degrees_of_freedom_a_quantile_is_a_little_too_wide_if_anything(degrees):
    assert 0.94999 <= within(estimates.t_quantile_975(degrees), degrees) <= 0.952


def test_below_five_values_the_interval_of_a_median_is_a_t_interval_of_its_logarithm():
    # Logarithms m - d, m, m + d: standard deviation d, so standard error d / sqrt(3), times 4.3027.
    spread = math.exp(0.03)
    low, high = estimates.median_interval([100 / spread, 100, 100 * spread])
    half = 4.3027 * 0.03 / math.sqrt(3)
    assert (low, high) == (pytest.approx(100 * math.exp(-half)), pytest.approx(100 * math.exp(half)))


def test_from_five_values_on_the_interval_is_made_of_what_was_measured():
    values = [103.0, 98.0, 100.0, 101.0, 99.0]
    assert estimates.median_interval(values) == pytest.approx((98.0, 103.0))  # nothing less of five comes near 95 %
    low, high = estimates.median_interval([100.0 + step for step in range(21)])
    assert 100 < low < 110 < high < 120


# The published table of exact two-sided sign intervals: so many values outside at each end.
@pytest.mark.parametrize(("count", "outside"), [(9, 1), (12, 2), (17, 4), (20, 5)])
def test_an_interval_lies_between_the_two_places_that_cover_more_and_less_than_95_percent(count, outside):
    values = [math.exp(place / 100) for place in range(count)]
    low, high = estimates.median_interval(values)
    assert values[outside] <= low < values[outside + 1]
    assert values[-outside - 2] < high <= values[-outside - 1]


@pytest.mark.parametrize(
    ("count", "method"), [(1, None), (2, "Student's t"), (4, "Student's t"), (5, "order statistics")]
)
def test_the_way_to_an_interval_depends_on_how_many_values_there_are(count, method):
    assert estimates.interval_method(count) == method


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 7, 10])
def test_about_95_of_100_intervals_hold_what_they_are_for(count):
    """Repeats as a cluster gives them, some of them much slower: the median of them all is known."""
    chance = random.Random(count)
    cases = [[100 / (1 + 0.03 * chance.expovariate(1)) for _ in range(count)] for _ in range(100)]
    true = 100 / (1 + 0.03 * math.log(2))
    intervals = [estimates.median_interval(case) for case in cases]
    assert 88 <= sum(low <= true <= high for low, high in intervals) <= 100


def test_values_that_cannot_be_speeds_have_no_interval():
    assert estimates.median_interval([5.0]) is None
    assert estimates.median_interval([5.0, 0.0, 6.0]) is None
    assert estimates.median_interval([5.0, math.inf]) is None
    assert estimates.median_interval([1e-300, 1e300]) is None
    assert estimates.median_interval([198.0, 49_589.0]) is None
    assert estimates.median_interval([198.0, 197.0, 199.0, 49_589.0, 49_600.0]) is None
    assert estimates.ratio_interval([198.0, 49_589.0], [100.0, 101.0]) is None
    assert estimates.ratio_interval([5.0], [1.0, 2.0]) is None
    assert estimates.ratio_interval([5.0, 6.0], [1.0]) is None
    assert estimates.ratio_of_medians([5.0], []) is None
    assert estimates.ratio_of_medians([5.0], [0.0]) is None


@pytest.mark.parametrize("others", [[100.0, 100.1, 100.2], [99.8, 100.0, 100.1, 100.2], [100.0] * 6])
def test_a_value_far_from_the_others_is_an_outlier(others):
    assert estimates.outliers([*others, 88.0]) == {len(others): pytest.approx(-0.12, abs=0.001)}
    assert estimates.outliers([112.0, *others]) == {0: pytest.approx(0.12, abs=0.002)}


@pytest.mark.parametrize(
    "values", [[100.0, 100.1, 88.0], [90.0, 95.0, 100.0, 105.0, 88.0], [100.0, 100.01, 99.99, 100.0, 100.9], [0.0] * 4]
)
def test_too_few_values_wide_ones_and_small_differences_have_no_outlier(values):
    assert estimates.outliers(values) == {}


def test_chance_alone_makes_few_outliers():
    chance = random.Random(1)
    found = [estimates.outliers([chance.gauss(100, 3) for _ in range(5)]) for _ in range(400)]
    assert sum(map(bool, found)) < 40


def test_the_ratio_is_that_of_the_medians():
    assert estimates.ratio_of_medians([1.0, 8.0, 9.0], [2.0, 2.0, 5.0]) == 4.0


def test_two_sides_that_are_alike_have_the_degrees_of_freedom_of_both():
    # Both groups: logarithms m - d, m, m + d, so standard error d * sqrt(2/3) with 4 degrees of freedom.
    spread = math.exp(0.03)
    values, baseline = [400 / spread, 400, 400 * spread], [100 / spread, 100, 100 * spread]
    low, high = estimates.ratio_interval(values, baseline)
    half = 2.7764 * 0.03 * math.sqrt(2 / 3)
    assert (low, high) == (pytest.approx(4 * math.exp(-half)), pytest.approx(4 * math.exp(half)))


def test_a_ratio_without_any_spread_is_certain():
    assert estimates.ratio_interval([6.0, 6.0], [3.0, 3.0]) == (2.0, 2.0)


def test_a_ratio_with_one_noisy_side_uses_that_sides_freedom():
    low, high = estimates.ratio_interval([6.0, 6.0, 6.0], [2.9, 3.1])
    half = 12.7062 * abs(math.log(3.1) - math.log(2.9)) / 2
    assert (low, high) == (pytest.approx(2 * math.exp(-half)), pytest.approx(2 * math.exp(half)))


@pytest.mark.parametrize("count", [2, 4, 7, 20])
def test_the_interval_of_a_ratio_to_a_sure_baseline_is_that_of_its_own_median(count):
    values = [196 + 1.7**place / 100 for place in range(count)]
    ratios = estimates.ratio_interval(values, [100.0] * 5)
    assert ratios == pytest.approx([bound / 100 for bound in estimates.median_interval(values)])


@pytest.mark.parametrize("count", [5, 10, 20])
def test_two_repeats_are_as_unsure_against_many_as_against_two_that_are_sure(count):
    """However close to each other the two are by chance: many repeats of the other side say nothing of them."""
    values, many = [99.0, 101.0], [100 + place / 100 for place in range(count)]
    bounds, sure = estimates.ratio_interval(values, many), estimates.ratio_interval(values, [100.0, 100.0])
    assert bounds.low <= sure.low * 1.001
    assert bounds.high >= sure.high * 0.999


def test_swapped_sides_have_the_inverse_interval():
    values, baseline = [90.0, 97.0, 99.0, 100.0, 100.5, 101.0, 102.0], [50.0, 55.0]
    low, high = estimates.ratio_interval(values, baseline)
    assert estimates.ratio_interval(baseline, values) == pytest.approx((1 / high, 1 / low))

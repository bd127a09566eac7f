from __future__ import annotations

import math

import pytest
from rackmark.report import statistics


def test_without_values_there_is_no_mean_and_no_median():
    assert statistics.mean([]) is None
    assert statistics.median([]) is None


def test_median_and_mean():
    assert statistics.median([3.0, 1.0, 10.0]) == 3.0
    assert statistics.median([1.0, 2.0, 4.0, 10.0]) == 3.0
    assert statistics.mean([1.0, 2.0, 6.0]) == 3.0


def test_quantiles_lie_between_the_values_in_proportion():
    values = [40.0, 10.0, 30.0, 20.0]
    assert statistics.quantile(values, 0.5) == statistics.median(values)
    assert [statistics.quantile(values, share) for share in (0, 0.25, 0.9, 1)] == pytest.approx([10, 17.5, 37, 40])
    assert statistics.quantile([7.0], 0.99) == 7.0
    assert statistics.quantile([], 0.5) is None


# From a printed table of Student's t distribution, two-sided 95 %.
@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [
        *[(1, 12.706), (2, 4.303), (4, 2.776), (10, 2.228), (15, 2.131), (20, 2.086), (25, 2.060), (30, 2.042)],
        *[(31, 2.040), (40, 2.021), (60, 2.000), (120, 1.980), (100000, 1.960)],
    ],
)
def test_t_quantiles_agree_with_the_printed_table(degrees, quantile):
    assert statistics.t_quantile_975(degrees) == pytest.approx(quantile, abs=6e-4)


def test_every_t_quantile_fits_the_density():
    """Integrates the density between minus and plus the quantile: a wrong digit in the table shows here."""
    for degrees in [*range(1, 32), 50]:
        quantile = statistics.t_quantile_975(degrees)
        scale = math.gamma((degrees + 1) / 2) / (math.sqrt(degrees * math.pi) * math.gamma(degrees / 2))
        width = quantile / 1000
        inside = sum((1 + ((i + 0.5) * width) ** 2 / degrees) ** (-(degrees + 1) / 2) for i in range(1000)) * width
        assert 2 * scale * inside == pytest.approx(0.95, abs=2e-5), degrees


def test_fractional_degrees_of_freedom_never_narrow_an_interval():
    assert statistics.t_quantile_975(2.9) == statistics.t_quantile_975(2)
    assert statistics.t_quantile_975(4 - 1e-12) == statistics.t_quantile_975(4)


def test_the_interval_of_a_mean():
    # Standard deviation 2, standard error 2 / sqrt(3), times 4.3027.
    low, high = statistics.mean_interval([8.0, 10.0, 12.0])
    assert (low, high) == (pytest.approx(10 - 4.96833, abs=1e-4), pytest.approx(10 + 4.96833, abs=1e-4))


def test_one_value_has_no_interval():
    assert statistics.mean_interval([5.0]) is None
    assert statistics.ratio_interval([5.0], [1.0, 2.0]) is None
    assert statistics.ratio_interval([5.0, 6.0], [1.0]) is None


def test_the_ratio_is_that_of_the_medians():
    assert statistics.ratio_of_medians([1.0, 8.0, 9.0], [2.0, 2.0, 5.0]) == 4.0


def test_the_interval_of_a_ratio_is_a_t_interval_of_its_logarithm():
    # Both groups: logarithms m - d, m, m + d, so standard error d * sqrt(2/3) with 4 degrees of freedom.
    spread = math.exp(0.03)
    values, baseline = [400 / spread, 400, 400 * spread], [100 / spread, 100, 100 * spread]
    low, high = statistics.ratio_interval(values, baseline)
    half = 2.7764 * 0.03 * math.sqrt(2 / 3)
    assert (low, high) == (pytest.approx(4 * math.exp(-half)), pytest.approx(4 * math.exp(half)))


def test_a_ratio_without_any_spread_is_certain():
    assert statistics.ratio_interval([6.0, 6.0], [3.0, 3.0]) == (2.0, 2.0)


def test_a_ratio_with_one_noisy_side_uses_that_sides_freedom():
    low, high = statistics.ratio_interval([6.0, 6.0, 6.0], [2.9, 3.1])
    half = 12.7062 * abs(math.log(3.1) - math.log(2.9)) / 2
    assert (low, high) == (pytest.approx(2 * math.exp(-half)), pytest.approx(2 * math.exp(half)))

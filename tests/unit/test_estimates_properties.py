"""What holds for statistics and summaries whatever the numbers are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rackmark.numbers import estimates
from rackmark.run.cases import Case
from unit.run_fixture import rank_log, summary_of, write_run

rates = st.floats(min_value=1e-3, max_value=1e9)
repeats = st.lists(rates, min_size=1, max_size=12)
some_repeats = st.lists(rates, min_size=2, max_size=12)


def all_numbers(values, baseline):
    return (
        estimates.mean(values),
        estimates.median(values),
        estimates.median_interval(values),
        estimates.ratio_of_medians(values, baseline),
        estimates.ratio_interval(values, baseline),
        sorted(estimates.outliers(values).values()),
    )


@settings(max_examples=40)
@given(repeats, repeats, st.randoms(use_true_random=False))
def test_the_order_of_repeats_does_not_matter(values, baseline, chance):
    shuffled, base_shuffled = chance.sample(values, len(values)), chance.sample(baseline, len(baseline))
    assert all_numbers(shuffled, base_shuffled) == all_numbers(values, baseline)


@settings(max_examples=40)
@given(some_repeats, some_repeats, st.floats(min_value=1e-3, max_value=1e3))
def test_faster_by_a_factor_is_faster_by_it_in_every_number(values, baseline, factor):
    faster = [value * factor for value in values]
    assert estimates.mean(faster) == pytest.approx(estimates.mean(values) * factor)
    assert estimates.median(faster) == pytest.approx(estimates.median(values) * factor)
    own, scaled = estimates.median_interval(values), estimates.median_interval(faster)
    assert (scaled is None) == (own is None)
    assert own is None or scaled == pytest.approx([bound * factor for bound in own])
    both_scaled = estimates.ratio_interval(faster, [value * factor for value in baseline])
    assert both_scaled is None or both_scaled == pytest.approx(estimates.ratio_interval(values, baseline))


@settings(max_examples=40)
@given(some_repeats, some_repeats)
def test_an_interval_holds_what_it_is_of_and_begins_above_zero(values, baseline):
    for interval, number in (
        (estimates.median_interval(values), estimates.median(values)),
        (estimates.ratio_interval(values, baseline), estimates.ratio_of_medians(values, baseline)),
    ):
        assert interval is None or 0 < interval.low <= number * (1 + 1e-12)
        assert interval is None or interval.high >= number * (1 - 1e-12)


@settings(max_examples=40)
@given(st.lists(st.floats(min_value=1, max_value=1.4), min_size=2, max_size=12))
def test_repeats_that_are_near_each_other_always_have_an_interval(values):
    assert estimates.median_interval(values) is not None


@settings(max_examples=40)
@given(some_repeats, some_repeats)
def test_no_interval_spans_orders_of_magnitude(values, baseline):
    for interval in (estimates.median_interval(values), estimates.ratio_interval(values, baseline)):
        assert interval is None or interval.high < 100 * interval.low * (1 + 1e-9)


@settings(max_examples=40)
@given(rates, st.integers(min_value=2, max_value=12))
def test_repeats_that_are_the_same_leave_no_doubt(value, count):
    assert estimates.median_interval([value] * count) == pytest.approx((value, value))
    assert estimates.outliers([value] * count) == {}


@settings(max_examples=15)
@given(
    st.sampled_from(["2n1g", "1n4g", "2n4g", "4n4g"]),
    st.lists(st.floats(min_value=1e-3, max_value=1e3), min_size=1, max_size=3),
)
def test_n_equal_ranks_give_speedup_n(tmp_path_factory, name, seconds):
    run_dir = write_run(tmp_path_factory.mktemp("run"), {"1n1g": seconds, name: seconds})
    case = Case.parse(name)
    for number, of_repeat in enumerate(seconds, start=1):
        for rank in range(case.world_size):
            as_fast_as_rank_0 = rank_log(case, rank, of_repeat / (1 + rank / 100))
            (run_dir / f"cases/{name}/r{number}/rank-{rank}.log").write_text(as_fast_as_rank_0)
    summary = summary_of(run_dir)["cases"][1]
    assert summary["speedup"] == pytest.approx(case.world_size)
    assert summary["efficiency"] == pytest.approx(1)
    assert summary["flags"] == []

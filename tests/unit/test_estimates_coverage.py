"""Of 100 intervals of a ratio 94 to 98 hold it, however many repeats either side has. The soak tier tries all pairs."""

from __future__ import annotations

import pytest
from rackmark.numbers import estimates
from unit.repeats_fixture import KINDS, held

TRIALS = 2000
BY_CHANCE = 1.0  # two standard deviations of a share of 95 % among so many trials


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("counts", [(2, 2), (2, 20), (20, 3), (4, 10), (3, 5), (5, 7), (8, 8), (20, 20)])
def test_intervals_of_a_ratio_hold_it_as_often_as_they_say(kind, counts):
    assert 94 - BY_CHANCE <= held(kind, counts, TRIALS) <= 98 + BY_CHANCE


@pytest.mark.parametrize("count", [2, 4, 5, 6, 7, 10, 20])
def test_intervals_of_a_median_hold_it_as_often_as_they_say(count):
    chance = KINDS["1 %"](count)
    intervals = [estimates.median_interval([chance() for _ in range(count)]) for _ in range(TRIALS)]
    assert 93.75 - BY_CHANCE <= 100 * sum(low <= 1 <= high for low, high in intervals) / TRIALS <= 95.5 + BY_CHANCE

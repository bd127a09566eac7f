"""How often intervals of a ratio hold it, for every pair of 2 to 20 repeats. About three minutes; the unit tier tries
some of them."""

from __future__ import annotations

from itertools import combinations_with_replacement

import pytest
from unit.repeats_fixture import KINDS, held

TRIALS = 4000
BY_CHANCE = 0.6  # of a share near 98 % among so many trials: less than one pair in a hundred is further away


@pytest.mark.parametrize("kind", KINDS)
def test_94_to_98_of_100_intervals_hold_the_ratio_for_every_pair_of_repeats(kind, record_property):
    shares = {counts: held(kind, counts, TRIALS) for counts in combinations_with_replacement(range(2, 21), 2)}
    for extreme in (min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)):
        record_property(f"{extreme[0]} against {extreme[1]}", shares[extreme])
    assert {counts: share for counts, share in shares.items() if not 94 - BY_CHANCE <= share <= 98 + BY_CHANCE} == {}

"""The simulation of searches, held to what can be reckoned without it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from automl_simulation import DISTANCE, Asked, Costs, Storage, share_of_files, share_of_master

FREE = Costs(append=0, look_file=0, look_record=0, network=0, settings=0, begin=0)
FAST = Storage(operations=1e9, round_trip=0.0)


def of_files(nodes, costs=FREE, storage=FAST, trial=60.0):
    return share_of_files(Asked(nodes, trial, 2.0), costs, storage, 2000)


def test_what_costs_nothing_leaves_all_time_to_training():
    for nodes in (1, 100):
        assert of_files(nodes) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("nodes", [1, 64])
def test_what_a_trial_costs_by_itself_is_the_same_for_one_node_and_many(nodes):
    assert of_files(nodes, replace(FREE, begin=3.0, settings=3.0)) == pytest.approx(60 / 66, abs=0.01)
    assert of_files(nodes, replace(FREE, append=1.5)) == pytest.approx(60 / 63, abs=0.01)


def test_a_network_costs_nothing_until_it_takes_longer_than_half_a_trial():
    assert of_files(4, replace(FREE, network=15.0)) == pytest.approx(1, abs=0.001)
    assert of_files(4, replace(FREE, network=60.0)) == pytest.approx(60 / 90, abs=0.02)


def test_a_storage_that_all_wait_for_bounds_the_trials_per_second():
    """Without others to look at, a trial takes 100 + 3 + 2 operations at its half and 10 at its end."""
    storage = Storage(operations=100.0, round_trip=0.0)
    share = share_of_files(Asked(64, 10.0, 2.0), FREE, storage, 0)
    assert share == pytest.approx(100 / 115 * 10 / 64, rel=0.1)


def test_a_master_that_compares_with_all_known_networks_ends_as_many_trials_as_it_has_time_for():
    """n results take n * n / 2 distances, however many nodes there are."""
    asked = Asked(512, 60.0, 12.0)
    results = (2 * asked.horizon / DISTANCE) ** 0.5
    assert share_of_master(asked, FREE) == pytest.approx((results + 512) * 60 / (512 * asked.horizon), rel=0.1)
    assert share_of_master(Asked(1, 780.0, 12.0), FREE) > 0.99

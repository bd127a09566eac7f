"""Which network a worker trains next: test 16 of a search is that the same seed and history give the same one."""

from __future__ import annotations

import functools
import math
import random
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from automl_history_fixture import ended, started

sys.path.insert(0, str(Path(__file__).parents[2] / "workloads/automl"))
from candidates import NoNetworkError, Rules, fathers, next_network
from morphs import OPERATIONS, morphed
from rackmark.automl import reservation
from rackmark.automl.reservation import reserve
from rackmark.automl.trials import Trials
from start_graphs import start_graph
from surrogate import known_networks, upper_bounds

START = start_graph("lab")
RULES = Rules(OPERATIONS, max_growth=1.33, kernel_sizes=(3, 5), workers=1)


def searched(accuracies, workers=1, **facts):
    """Trials of the start network that ended with these accuracies, one after the other."""
    trials = Trials()
    for seq, accuracy in enumerate(accuracies):
        features = list(START.features())
        trials.take([started(seq, workers, time=seq, features=features, **facts)])
        trials.take([ended(seq, workers, time=seq + 0.5, accuracy=accuracy)])
    return trials


def next_of(trials, seed=1, rules=RULES, graphs=lambda seq: START, take=lambda digest: True):
    return next_network(trials, graphs, START, rules, random.Random(seed), take)


def test_the_same_seed_and_history_give_the_same_network():
    trials = searched([0.6, 0.7, 0.8])
    found = [next_of(trials, seed) for seed in (1, 1, 2)]
    assert found[0] == found[1]
    assert found[0].digest != found[2].digest


def test_a_network_is_its_father_with_one_or_two_morphs_and_a_kernel_of_the_space():
    for seed in range(30):
        child = next_of(searched([0.7]), seed)
        graph = functools.reduce(morphed, child.morphs, START)
        assert (child.father, child.digest) == (0, child.graph.digest())
        assert 1 <= len(child.morphs) <= 2
        assert child.graph == graph.with_kernel(child.graph.kernel_size)
        assert child.graph.kernel_size in (3, 5)
        assert child.graph.parameters <= 1.33 * START.parameters
        assert child.graph.flops.training <= 1.33 * START.flops.training


def test_only_the_operations_asked_for_are_used():
    rules = Rules(("deeper", "skip_add"), 4.0, (3,), 1)
    used = {morph.operation for seed in range(20) for morph in next_of(searched([0.7]), seed, rules).morphs}
    assert used == {"deeper", "skip_add"}


def test_good_networks_have_more_children_and_those_with_children_fewer_more():
    trials = searched([0.80, 0.80, 0.78])
    for seq in range(3, 6):
        trials.take([started(seq, 1, time=seq, father=1)])
        trials.take([ended(seq, 1, time=seq + 0.5, state="crashed", accuracy=None)])
    rules = Rules(OPERATIONS, 4.0, (3,), 1)
    drawn = Counter(next_of(trials, seed, rules).father for seed in range(120))
    weights = {0: 1.0, 1: 1 / 4, 2: math.exp(-1)}
    for seq, weight in weights.items():
        assert drawn[seq] / 120 == pytest.approx(weight / sum(weights.values()), abs=0.12)


def test_fathers_are_the_best_that_did_not_fail_and_the_start_network():
    trials = searched([0.1, 0.2])  # of the start network both
    for seq in range(2, 30):
        trials.take([started(seq, 1, father=0, morphs=["wider"]), ended(seq, 1, accuracy=0.5 + seq / 100)])
    assert [trial.seq for trial in fathers(trials, workers=1)] == [*range(29, 13, -1), 1]
    assert [trial.seq for trial in fathers(trials, workers=6)] == [*range(29, 11, -1), 1]
    trials.take([ended(29, 1, state="crashed", accuracy=0.9), ended(28, 1, state="stopped", accuracy=0.8)])
    assert [trial.seq for trial in fathers(trials, workers=1)][:2] == [28, 27]


def test_a_father_whose_weights_are_gone_has_no_children():
    trials = searched([0.9, 0.8])
    assert {next_of(trials, seed, graphs={1: START}.get).father for seed in range(10)} == {1}
    assert next_of(trials, graphs=lambda seq: None).father is None
    assert next_of(Trials()).father is None


def descent(trials_in_all):
    """The networks of a search, each of which does a little better than all before."""
    trials, graphs = searched([0.5]), {0: START}
    for seq in range(1, trials_in_all):
        child = next_of(trials, seed=seq, graphs=graphs.get)
        graphs[seq] = child.graph
        facts = {"father": child.father, "digest": child.digest, "morphs": [morph.short for morph in child.morphs]}
        facts["features"] = list(child.graph.features())
        trials.take([started(seq, 1, time=seq, **facts), ended(seq, 1, time=seq + 0.5, accuracy=0.5 + seq / 100)])
    return [trial.digest for trial in trials]


def test_a_search_goes_on_when_the_best_have_grown_as_far_as_they_may_and_again_with_the_same_networks():
    networks = descent(40)
    assert len(set(networks)) == 40
    assert descent(20) == networks[:20]


def test_the_next_best_is_taken_where_another_worker_was_faster():
    trials, refused = searched([0.7]), []

    def take(digest):
        refused.append(digest)
        return len(refused) > 20

    child = next_of(trials, take=take)
    assert len(set(refused)) == 21  # more than there are candidates at a time
    assert refused[-1] == child.digest


def test_a_network_that_the_history_knows_is_not_tried_again():
    first = next_of(searched([0.7]))
    trials = searched([0.7])
    trials.take([started(1, 1, digest=first.digest, father=0)])
    asked = []
    next_of(trials, take=lambda digest: bool(asked.append(digest)) or len(asked) > 20)
    assert first.digest not in asked


def test_when_all_networks_are_taken_a_sentence_says_what_to_change():
    rules = Rules(("wider",), 1.0, (3,), 1)
    with pytest.raises(NoNetworkError, match=r"max_growth=1 times .*: raise max_growth, .* than wider\."):
        next_of(searched([0.7]), rules=rules)
    with pytest.raises(NoNetworkError):
        next_of(searched([0.7]), take=lambda digest: False)


def test_a_network_is_reserved_once_and_asking_again_is_no_harm(tmp_path):
    assert reserve(tmp_path, "ab12", 7)
    assert reserve(tmp_path, "ab12", 7)
    assert not reserve(tmp_path, "ab12", 8)
    assert (tmp_path / "architectures/ab/ab12").read_text() == "7"


def test_one_wins_of_many_who_reserve_at_once(tmp_path):
    def race(digest):
        return sum(pool.map(lambda seq: reserve(tmp_path, digest, seq), range(8)))

    with ThreadPoolExecutor(8) as pool:
        assert {race(f"{digest:032x}") for digest in range(100)} == {1}


def test_a_full_disk_reserves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reservation.os, "write", full)
    with pytest.raises(OSError, match="No space"):
        reserve(tmp_path, "ab12", 7)
    monkeypatch.undo()
    assert reserve(tmp_path, "ab12", 8)


def test_the_surrogate_learns_from_what_was_trained():
    known = [((float(n), 1.0), 0.6 + 0.03 * n) for n in range(10)]
    low, high = upper_bounds(known, [(0.5, 1.0), (8.5, 1.0)])
    assert 0.5 < low < 0.7 < 0.8 < high < 1.0
    near, far = upper_bounds(known, [(9.0, 1.0), (9.0, 40.0)])
    assert far > near  # what is unknown may be better


@pytest.mark.parametrize(
    "known",
    [
        [],
        [((1.0, 2.0), 0.5)],
        [((1.0, 2.0), 0.5)] * 300,
        [((1.0, 2.0, 3.0), 0.5), ((1.0,), 0.6), ((), 0.6)],
        [((1e18, -1e18), 0.0), ((1e-18, 5.0), 1.0), ((0.0, 0.0), 1.0)],
    ],
)
def test_the_surrogate_bears_whatever_a_history_holds(known):
    bounds = upper_bounds(known, [(1.0, 2.0), (3.0, 4.0), (1.0, 2.0)])
    assert all(map(math.isfinite, bounds))
    assert bounds[0] == bounds[2]


def test_the_surrogate_takes_failed_networks_for_bad_and_no_more_than_it_can_bear():
    trials = searched([0.6, 0.9])
    for seq, state in enumerate(("diverged", "oom", "stopped", "lost"), start=2):
        trials.take([started(seq, 1, time=seq), ended(seq, 1, time=seq, state=state, accuracy=None)])
    assert sorted(accuracy for _, accuracy in known_networks(trials)) == [0.6, 0.6, 0.6, 0.9]
    many = searched([0.5 + seq / 1000 for seq in range(400)][::-1])
    accuracies = [accuracy for _, accuracy in known_networks(many)]
    assert len(accuracies) == 256
    assert (max(accuracies), min(accuracies)) == (0.899, 0.5)  # the best and the latest


def test_a_long_search_forgets_all_but_the_running_the_best_and_the_latest():
    trials = searched([0.9, *[0.5] * 99])
    trials.take([started(100, 1, time=100.0, father=0)])
    trials.forget(best=60, latest=10)
    assert len(trials) == 101  # too few to be worth it
    trials.forget(best=1, latest=2)
    assert {trial.seq: trial.state for trial in trials} == {0: "ok", 98: "ok", 99: "ok", 100: "running"}
    assert trials.children == {0: 1}

"""What the history of a search adds up to: its trials, how far it is, what share of the time went into training."""

from __future__ import annotations

import math

import pytest
from automl_history_fixture import EXPERIMENT, SETTINGS, began, ended, lost, started
from rackmark.aiperf.flops import Flops
from rackmark.automl.progress import Progress, shares
from rackmark.automl.trials import trials_of


def states(records, now_lost=False):
    return {trial.seq: trial.state for trial in trials_of(records, now_lost)}


def test_a_trial_is_what_its_two_records_say():
    records = [began(1), started(3, 2, time=5.0, father=1, morphs=["deeper at 4"]), ended(3, 2, time=9.0)]
    (trial,) = trials_of(records, now_lost=False)
    assert (trial.seq, trial.worker, trial.state, trial.father, trial.accuracy) == (3, 1, "ok", 1, 0.7)
    assert (trial.began, trial.ended, trial.seconds, trial.waited, trial.epochs, trial.images) == (
        5,
        9,
        0.8,
        0.5,
        2,
        4000,
    )
    assert (trial.flops, trial.layers, trial.params) == (Flops(1e6, 3e6), 23, 1000)
    assert (trial.hyperparameter, trial.morphs, trial.features) == (SETTINGS, ("deeper at 4",), (3.0,) * 17)
    assert trial.trainings[0]["accuracy"] == 0.7


def test_a_trial_without_an_end_runs_until_its_worker_does_something_else_or_nobody_is_there():
    open_trials = [started(0, 2), started(1, 2)]
    assert states(open_trials) == {0: "running", 1: "running"}
    assert states(open_trials, now_lost=True) == {0: "lost", 1: "lost"}
    assert states([*open_trials, began(0, time=7.0), started(3, 2)]) == {0: "lost", 1: "lost", 3: "running"}
    assert states([*open_trials, lost(0, 2)]) == {0: "lost", 1: "running"}


def test_records_that_are_read_again_change_nothing():
    records = [began(0), started(0, 1), ended(0, 1), started(1, 1, time=4.0)]
    assert states([*records, *records]) == {0: "ok", 1: "running"}
    progress = Progress()
    once = progress.numbers(records, EXPERIMENT, 5.0)
    assert progress.numbers(records, EXPERIMENT, 5.0) == once


def test_an_end_whose_start_was_not_readable_counts_without_what_only_the_start_knew():
    (trial,) = trials_of([ended(0, 1)], now_lost=True)
    assert (trial.state, trial.accuracy, trial.flops, trial.digest, trial.began) == ("ok", 0.7, None, None, None)
    assert Progress().numbers([ended(0, 1)], EXPERIMENT, 5.0)["gflops"] is None


def test_progress_is_the_same_look_by_look_as_at_once():
    records = [
        *(began(0), began(1), started(0, 2, time=10.0), started(1, 2, time=10.0), ended(1, 2, time=20.0)),
        *(started(3, 2, time=21.0), ended(0, 2, time=30.0, accuracy=0.9), started(2, 2, time=31.0)),
        *(ended(3, 2, time=35.0, state="diverged", accuracy=None, epochs=1), started(5, 2, time=36.0)),
    ]
    expected = 5 * (3e6 * 2000 + 1e6 * 1000) / 25 / 1e9
    step_by_step = Progress()
    for record in records:
        numbers = step_by_step.numbers([record], EXPERIMENT, 40.0)
    assert numbers == Progress().numbers(records, EXPERIMENT, 40.0)
    assert numbers == {
        "trials": 2,
        "running": 2,
        "failed": 1,
        "best": 0.9,
        "gflops": pytest.approx(expected),
        "regulated": pytest.approx(expected * -math.log(0.1)),
        "share": 0.4,
    }


def test_progress_of_nothing_is_unknown_and_not_zero():
    numbers = Progress().numbers([], EXPERIMENT, 0.0)
    assert (numbers["trials"], numbers["running"], numbers["failed"]) == (0, 0, 0)
    assert [numbers[name] for name in ("best", "gflops", "regulated", "share")] == [None] * 4
    perfect = [started(0, 1), ended(0, 1, accuracy=1.0)]
    assert Progress().numbers(perfect, EXPERIMENT, 2.0)["regulated"] is None


def test_time_between_two_attempts_is_none_of_the_search():
    records = [began(0, 0.0), started(0, 1, time=1.0), ended(0, 1, time=30.0), began(0, 1000.0, attempt=2)]
    assert Progress().numbers(records, EXPERIMENT, 1020.0)["share"] == pytest.approx(0.5)


def test_shares_are_those_of_the_time_of_all_nodes():
    records = [started(0, 2), ended(0, 2, seconds=6.0), started(1, 2), ended(1, 2, seconds=3.0), started(2, 2)]
    found = shares(trials_of(records, now_lost=True), 0.0, 10.0, nodes=2)
    assert (found.training, found.waiting, found.images_per_second) == (pytest.approx(45), pytest.approx(7.5), 800)
    assert shares([], 0.0, 10.0, nodes=2).training is None
    assert shares(trials_of(records, True), 10.0, 10.0, nodes=2).training is None

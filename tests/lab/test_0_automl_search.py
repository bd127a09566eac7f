"""Settings that Optuna's TPE suggests, in the environment that a search would have."""

from __future__ import annotations

import json
import subprocess

import pytest
from lab.automl_environment import AUTOML, automl_environment
from lab.trainings import ROOT

# Reads {name: [seed, records]}, writes {name: settings}.
SUGGEST = """
import json, sys
from settings_search import suggest
from parameters import Space
from rackmark.automl.trials import trials_of
space = Space((0.0, 0.2), (3, 5), (48, 96))
asked = json.load(sys.stdin)
print(json.dumps({name: suggest(trials_of(records, False), space, seed, 5) for name, (seed, records) in asked.items()}))
"""


def trial(seq, accuracy, rate, batch, state="ok"):
    settings = {"dropout_rate": rate, "kernel_size": 3, "batch_size": batch}
    common = {"worker": 0, "seq": seq}
    training = {"hyperparameter": settings, "accuracy": accuracy, "epochs": 2}
    started = {**common, "event": "started", "time": seq, "hyperparameter": settings}
    if state == "running":
        return [started]
    return [started, {**common, "event": "ended", "time": seq + 0.5, "state": state, "trainings": [training]}]


def history(best_rate, best_batch):
    """Of forty trials, better the nearer they are to the best settings."""
    records = []
    for seq in range(40):
        rate, batch = seq % 5 * 0.05, 48 + seq * 7 % 49
        records += trial(seq, 0.9 - 2 * abs(rate - best_rate) - abs(batch - best_batch) / 100, rate, batch)
    return records


@pytest.fixture(scope="module")
def suggested():
    low, high = history(0.02, 52), history(0.18, 92)
    asked = {f"low {seed}": [seed, low] for seed in range(12)}
    asked |= {f"high {seed}": [seed, high] for seed in range(12)}
    asked["low again"] = [3, low]
    asked["nothing"] = [3, []]
    asked["diverged"] = [3, low + trial(40, None, 0.02, 52, "diverged")]
    asked["crashed"] = [3, low + trial(40, None, 0.02, 52, "crashed")]
    asked["running"] = [3, low + trial(40, None, 0.02, 52, "running")]
    asked["another space"] = [3, low + trial(40, 1.0, 0.5, 4096)]
    asked["many"] = [3, [record for seq in range(3000) for record in trial(seq, seq / 3000, 0.1, 64)]]
    command = [automl_environment(), "-c", SUGGEST]
    environment = {
        "PYTHONPATH": f"{AUTOML}:{ROOT / 'module_utils'}:{ROOT / 'workloads/common'}",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        command, env=environment, input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def middle(values):
    return sorted(values)[len(values) // 2]


def test_settings_come_from_where_trainings_went_well(suggested):
    low, high = ([suggested[f"{name} {seed}"] for seed in range(12)] for name in ("low", "high"))
    for name, between in (("dropout_rate", 0.1), ("batch_size", 72)):
        assert middle([settings[name] for settings in low]) < between < middle([settings[name] for settings in high])


def test_settings_are_those_of_the_space_with_the_networks_kernel(suggested):
    for settings in suggested.values():
        assert 0 <= settings["dropout_rate"] <= 0.2
        assert settings["batch_size"] in range(48, 97)
        assert settings["kernel_size"] == 5


def test_the_same_history_and_seed_give_the_same_settings(suggested):
    assert suggested["low again"] == suggested["low 3"]
    assert len({json.dumps(suggested[f"low {seed}"]) for seed in range(12)}) > 1


def test_a_divergence_and_a_trial_under_way_are_learned_from_and_nothing_else_that_has_no_result(suggested):
    assert suggested["crashed"] == suggested["another space"] == suggested["low 3"]
    assert suggested["diverged"] != suggested["low 3"]
    assert suggested["running"] != suggested["low 3"]

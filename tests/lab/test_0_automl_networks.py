"""Networks that inherit their weights, in the environment that a search would have."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest
from lab.automl_environment import AUTOML, automl_environment
from lab.trainings import ROOT

sys.path.insert(0, str(AUTOML))
from morphs import OPERATIONS, Morph, morphed
from start_graphs import start_graph

DESCENTS = ROOT / "tests/lab/automl_descents.py"
SMALL = {"size": 28, "channels": 1, "batch": 4, "kernels": [None] * 12 + [3, 5], "dtype": "float32"}
LINE = {"start": "lab", "morphs": 20, **SMALL, "learns": True}
LINES = [{"seed": seed, **LINE} for seed in range(50)]
# Many layers with weights just drawn make much of a rounding error; with more digits it stays small.
LONG = {**LINE, "seed": 4, "morphs": 12, "size": 12, "kernels": [None, 3, 3, 5], "learns": False, "dtype": "float64"}
OF_RESNET50 = {**LONG, "start": "resnet50", "morphs": 4, "size": 32, "channels": 3}


# Weights of a network for ten classes, by other names, for one that tells seven apart.
FITTED = """
import json, sys
sys.path[:0] = sys.argv[1:]
from inheritance import fits_weights
from network import Network
from start_graphs import start_graph
of_ten = Network(start_graph("lab")).state_dict()
named = {name.replace("layers.", "features.stage"): weight for name, weight in of_ten.items()}
of_seven = start_graph("lab", classes=7)
fitting, skipped = fits_weights(of_seven, {**named, "epoch.best": of_ten["layers.1.weight"].sum()})
same = [name for name, weight in fitting.items() if weight.equal(of_ten[name])]
print(json.dumps({"left": sorted(set(of_ten) - set(same)), "skipped": skipped}))
"""


def run(program, *words):
    """The lines of JSON that a program prints in the environment of a search."""
    command = [automl_environment(), *program, str(AUTOML), str(ROOT / "module_utils"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def descended(*lines):
    """What descents measured, a record for each morph."""
    return run([str(DESCENTS)], json.dumps(lines))


@pytest.fixture(scope="module")
def thousand():
    return descended(*LINES)


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Of a start graph of one's own with more than 175 layers, and of ResNet-50, which has 174."""
    graph = start_graph("lab", (12, 12, 1))
    for _ in range(52):
        graph = morphed(graph, Morph("skip_add", 12, source=3))
    model = {name: value for name, value in graph.to_json().items() if name not in ("kernel_size", "start_layers")}
    path = tmp_path_factory.mktemp("models") / "model.json"
    path.write_text(json.dumps(model))
    return descended({**LONG, "start": str(path)}, OF_RESNET50)


def test_a_child_computes_what_its_father_did_and_all_that_is_new_can_learn(thousand):
    assert len(thousand) == 1000 and {record["operation"] for record in thousand} == set(OPERATIONS)
    assert len({record["digest"] for record in thousand}) > 950
    assert max(max(record["unlike"]) for record in thousand) < 1e-5
    new, moved = Counter(), Counter()
    for record in thousand:
        new[record["operation"]] += record["new"]
        moved[record["operation"]] += record["moved"]
    # What is left are filters of channels that the last steps have switched off.
    assert {operation: moved[operation] / new[operation] for operation in OPERATIONS} == pytest.approx(
        dict.fromkeys(OPERATIONS, 1), abs=0.01
    )


def test_kernels_grow_to_those_of_the_trial_without_a_change_of_what_is_computed(long):
    assert long[0]["layers"] > 175 and long[-1]["layers"] > 178
    assert any(record["grown"] for record in long[:12]) and any(record["grown"] for record in long[12:])
    assert max(max(record["unlike"]) for record in long) < 1e-10


def test_what_is_counted_is_what_was_computed(thousand, long):
    for record in (*thousand, *long):
        assert record["counted"] == record["seen"], record
        counted, made = record["parameters"]
        assert counted == made, record


def test_weights_are_made_for_the_network_that_was_planned(thousand, long):
    assert all(record["as planned"] for record in (*thousand, *long))


def test_a_seed_makes_the_same_networks_with_the_same_weights():
    morphs = 6
    line = {**LINES[7], "morphs": morphs}
    records = descended(line, line, {**line, "seed": 8})
    one, again, other = records[:morphs], records[morphs : 2 * morphs], records[2 * morphs :]
    assert one == again
    assert [record["digest"] for record in one] != [record["digest"] for record in other]


def test_weights_of_a_file_are_taken_as_far_as_they_fit():
    [fitted] = run(["-c", FITTED])
    assert [name for name in fitted["left"] if "num_batches" not in name] == ["layers.23.bias", "layers.23.weight"]
    assert fitted["skipped"] == ["layer 23 (StubDense) of [7, 64]: the file has [10, 64]"]

"""What a search is worth: numbers from its history and its logs, rules, and what makes its score none."""

from __future__ import annotations

import json
import math

import pytest
from rackmark.aiperf.flops import flops_per_image
from rackmark.aiperf.result import read_result
from rackmark.aiperf.score import IMAGENET
from unit.automl_experiment import BEGAN, Search, stamp, write_json
from unit.test_aiperf_flops import GRAPH

FLOPS = flops_per_image(GRAPH, 3)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "r1/experiment"


@pytest.fixture
def search(folder):
    """Two workers, each for 100 seconds: nine epochs of ten seconds ended well, one more was cut."""
    search = Search(folder, workers=2, duration=100)
    search.trial(0, [0.3, 0.6, 0.65])
    search.trial(1, [0.5, 0.71], [0.4, 0.6], father=0)
    search.trial(0, [0.62, 0.7], father=1)
    search.trial(1, state="oom", reason="CUDA out of memory", father=1)
    search.trial(1, [0.5], state="stopped", father=0)
    return search


def change(path, **fields):
    write_json(path, {**json.loads(path.read_text()), **fields})


def rewrite(path, old, new):
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_its_numbers(folder, search):
    found = read_result(folder)
    gflops = 10 * (FLOPS.training * 2000 + FLOPS.evaluation * 1000) / 52 / 1e9
    assert (found.state, found.reason, found.problems, found.remarks) == ("ok", None, [], [])
    assert found.values == {
        "score": pytest.approx(gflops, rel=1e-12),
        "regulated": pytest.approx(gflops * -math.log(0.29), rel=1e-12),
        "accuracy": 71.0,
        "hours": pytest.approx(52 / 3600),
        "trials": 3,
        "trials_failed": 1,
        "trials_lost": 0,
        "epochs": 10,
        "images_per_second": pytest.approx(10 * 2000 / 52),
        "training_share": pytest.approx(100 * 100 / (2 * 52)),
        "waiting_share": pytest.approx(100 * 5 / (2 * 52)),
        "best_layers": 9,
        "best_params": 1001,
        "best_flops": FLOPS.evaluation,
    }
    assert (found.missing, found.best.seq) == ({}, 1)


def test_a_search_that_goes_on_after_its_last_epoch_has_run_until_its_last_record(folder, search):
    search.clock = [BEGAN + 100, BEGAN + 101]
    search.trial(0, state="stopped")
    found = read_result(folder)
    assert found.values["hours"] == pytest.approx(100 / 3600)
    assert found.score.final.hours == pytest.approx(52 / 3600)
    assert found.broken_rules() == {}


def test_an_epoch_counts_as_the_images_of_the_data(folder, search):
    change(folder / "experiment.json", dataset={"counted": [IMAGENET.training, IMAGENET.evaluation]})
    as_imagenet = read_result(folder).values["score"]
    ops = FLOPS.training * 1_280_000 + FLOPS.evaluation * 50_000
    assert as_imagenet == pytest.approx(10 * ops / 52 / 1e9, rel=1e-12)


@pytest.mark.parametrize(
    ("profile", "accuracy", "seconds", "precision", "broken"),
    [
        ("lab", 0.7, 90, "fp32", {}),
        ("lab", 0.6999, 90, "fp32", {"accuracy": "The best accuracy is 69.99 %, lab asks for at least 70 %."}),
        ("lab", 0.7, 89, "fp32", {"hours": "The running time is 89.00 s, lab asks for at least 90 s."}),
        ("aah", 0.65, 12 * 3600, "fp16", {}),
        ("aah", 0.6499, 12 * 3600, "fp16", {"accuracy": "The best accuracy is 64.99 %, aah asks for at least 65 %."}),
        ("aiperf", 0.7, 3564, "bf16", {"hours": "The running time is 0.99 h, aiperf asks for at least 1 h."}),
        ("aiperf", 0.7, 3600, "fp8", {"precision": "The precision is fp8, aiperf asks for at least fp16."}),
        ("aiperf", 0.7, 3600, None, {"precision": "The precision is not known, aiperf asks for at least fp16."}),
    ],
)
def test_rules_of_its_profile(folder, profile, accuracy, seconds, precision, broken):
    Search(folder, duration=seconds, profile=profile, precision=precision).trial(
        0, [accuracy / 2, accuracy], epoch=seconds / 2
    )
    found = read_result(folder)
    assert found.broken_rules() == broken
    assert found.state == "ok"


def test_what_aiperf_says_of_a_rule_that_is_not_kept(folder, search):
    found = read_result(folder)
    assert found.sentences_for("accuracy") == "!!! Test failed due to low accuracy !!!"
    assert found.sentences_for("hours") == "!!! Test failed without running enough time !!!"
    assert found.sentences_for("precision") is None


def test_a_trial_that_was_cut_before_its_first_epoch_may_lack_anything(folder, search):
    for path in (
        "trials/00003/trial.log",
        "hyperparameter_epoch/00003/0.json",
        "hyperparameter_epoch/00003/model.json",
    ):
        (folder / path).unlink()
    assert read_result(folder).state == "ok"


def test_lost_trials_are_named_and_their_epochs_count(folder, search):
    search.trial(0, [0.3], state=None)
    found = read_result(folder)
    assert (found.state, found.values["trials_lost"], found.values["epochs"]) == ("ok", 1, 11)
    assert found.remarks == [
        "1 trial was lost with a worker or its node: 00004 of worker 0. Epochs finished before that count."
    ]


def test_a_search_that_was_resumed_says_how_long_it_stood_still(folder, search):
    search.clock = [BEGAN + 1000] * 2
    search.attempt(2, 40)
    search.trial(0, [0.5, 0.6], father=1)
    found = read_result(folder)
    assert found.values["hours"] == pytest.approx(1020 / 3600)
    assert found.values["training_share"] == pytest.approx(100 * 120 / (2 * (52 + 20)))  # while it searched
    assert found.remarks == [
        "The search stood still for 15.8 min between attempt 1 and attempt 2: that time is in the score, and in no"
        " share of node time."
    ]


def test_lines_of_the_history_that_are_none_are_counted(folder, search):
    path = folder / "history/worker-1.jsonl"
    path.write_text(path.read_text() + "{torn\n[]\n" + '{"event": "ended"')
    remarks = read_result(folder).remarks
    assert remarks[0] == "2 lines of the history were passed over."
    assert any("history/worker-1.jsonl is not JSON" in sentence for sentence in remarks)
    assert any("is torn: 17 bytes" in sentence for sentence in remarks)


def test_without_a_history_the_score_is_known_and_the_rest_is_not(folder, search):
    for path in (folder / "history").iterdir():
        path.unlink()
    found = read_result(folder)
    assert found.state == "ok"
    assert found.values["score"] is not None
    assert found.values["hours"] == pytest.approx(52 / 3600)
    absent = {name for name, value in found.values.items() if value is None}
    assert absent == set(found.missing) >= {"trials", "trials_lost", "training_share", "best_layers"}
    assert set(found.missing.values()) == {"The search left no history."}


def test_a_worker_without_a_record_is_named(folder, search):
    (folder / "history/worker-1.jsonl").unlink()
    sentence = "Worker 1 of 2 left no record: no trial of it is in the numbers."
    assert sentence in read_result(folder).remarks


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (
            lambda folder: (folder / "trials/00001/trial.log").write_text(""),
            "Trial 00001 finished 4 epochs by the history, and 0 by its trial.log.",
        ),
        (
            lambda folder: rewrite(folder / "trials/00002/trial.log", "val_accuracy: 0.70000", "val_accuracy: nan"),
            "Trial 00002 finished 2 epochs by the history, and 1 by its trial.log.",
        ),
        (
            lambda folder: (folder / "hyperparameter_epoch/00001/model.json").unlink(),
            "hyperparameter_epoch/00001/model.json is missing.",
        ),
        (
            lambda folder: (folder / "hyperparameter_epoch/00001/1.json").unlink(),
            "hyperparameter_epoch/00001/1.json is missing.",
        ),
        (
            lambda folder: change(folder / "experiment.json", profile="lap"),
            "The experiment asks for the profile lap: the known ones are aah, aiperf-1.0, aiperf, lab.",
        ),
        (
            lambda folder: (folder / "history/worker-2.jsonl").mkdir(),
            "history/worker-2.jsonl is no plain file: the history was not read.",
        ),
    ],
)
def test_what_would_make_the_score_another_one_is_named(folder, search, damage, problem):
    damage(folder)
    found = read_result(folder)
    assert found.state == "incomplete"
    assert problem in found.problems
    assert problem in found.reason


def test_an_epoch_that_a_cut_trial_finished_unheard_counts(folder, search):
    (log := folder / "trials/00003/trial.log").write_text(
        f"{stamp(BEGAN + 44)}Epoch 1/2\n{stamp(BEGAN + 44)}1/1 - val_accuracy: 0.60000\n"
    )
    assert log.is_file()
    found = read_result(folder)
    assert (found.state, found.values["epochs"]) == ("ok", 11)


@pytest.mark.parametrize(
    "fields",
    [
        {"schema": "rackmark.automl/9"},
        {"slave": 0},
        {"slave": True},
        {"id": "../../etc"},
        {"began": "now"},
        {"dataset": {"counted": [0, 1000]}},
        {"dataset": {"counted": 2000}},
        {"dataset": None},
        {"profile": None},
    ],
)
def test_a_record_of_the_experiment_that_cannot_be_used_leaves_no_score(folder, search, fields):
    change(folder / "experiment.json", **fields)
    found = read_result(folder)
    (name,) = fields
    assert (found.state, found.values["score"]) == ("incomplete", None)
    assert f"experiment.json has {'the schema' if name == 'schema' else name}" in found.reason
    assert found.missing["score"] == "It is not known how many images an epoch has."


def test_a_search_in_which_no_epoch_ended_has_no_score(folder):
    Search(folder).trial(0, state="crashed")
    found = read_result(folder)
    assert (found.state, found.reason) == ("no_data", "There is no score. No epoch has ended.")
    assert (found.values["score"], found.values["trials_failed"], found.best) == (None, 1, None)
    assert found.missing["best_layers"] == "No trial measured any."


def test_two_epochs_may_end_in_the_same_second(folder):
    Search(folder, duration=2).trial(0, [0.3, 0.5, 0.6, 0.65, 0.71], epoch=0.4)
    found = read_result(folder)
    assert (found.state, found.values["epochs"], found.values["accuracy"]) == ("ok", 5, 71.0)


def test_links_of_the_history_are_not_followed_out_of_the_folder(folder, search, tmp_path):
    outside = tmp_path / "outside.jsonl"
    (folder / "history/worker-1.jsonl").rename(outside)
    (folder / "history/worker-1.jsonl").symlink_to(outside)
    assert "history/worker-1.jsonl is no plain file: the history was not read." in read_result(folder).problems


@pytest.mark.parametrize("ahead", [3600, -3600])
def test_a_node_whose_clock_is_an_hour_off_is_found_by_its_preflight(folder, search, ahead):
    offsets = {"node1": {"clock_offset_s": 0.0}, "node2": {"clock_offset_s": ahead}}
    write_json(folder.parent / "preflight.json", {"nodes": offsets})
    found = read_result(folder)
    assert found.state == "incomplete"
    where = "ahead of" if ahead > 0 else "behind"
    assert f"The clock of node2 was 60 min {where} that of node1: their epochs cannot be put" in found.reason

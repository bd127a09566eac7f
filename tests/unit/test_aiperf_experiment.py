from __future__ import annotations

import json

import pytest
from rackmark.aiperf.experiment import read_experiment
from rackmark.aiperf.flops import flops_per_image
from rackmark.aiperf.rules import PROFILES
from rackmark.aiperf.score import score
from unit.aiperf_fixture import device_epochs, end_of_training, keras_epochs, seconds, write_trial
from unit.test_aiperf_flops import GRAPH

LOG = keras_epochs([0.1, 0.5]) + end_of_training(0, 21, 0.5)


@pytest.fixture
def folder(tmp_path):
    """Two trials, of which the second trains twice, without a line in between that could not be there."""
    write_trial(tmp_path / "Abc123", "zzzzz", LOG)
    again = device_epochs([0.4], begin=5) + end_of_training(0, 16, 0.4) + device_epochs([0.7, 0.8], begin=20)
    return write_trial(tmp_path / "Abc123", "aaaaa", again, sequence=1, begins=(5, 20), ended=False)


def test_trials_in_their_sequence_with_what_they_trained(folder):
    found = read_experiment(folder)
    assert (found.name, found.state, found.problems) == ("Abc123", "ok", [])
    assert found.started == seconds(0)
    assert [(trial.name, trial.ended) for trial in found.trials] == [("zzzzz", True), ("aaaaa", False)]
    assert [(one.trial, one.number, len(one.epochs)) for one in found.trainings] == [
        ("zzzzz", 0, 2),
        ("aaaaa", 0, 1),
        ("aaaaa", 1, 2),
    ]
    assert {one.flops for one in found.trainings} == {flops_per_image(GRAPH, 3)}


def test_its_score(folder):
    found = read_experiment(folder)
    final = score(found.trainings, found.started, PROFILES["aiperf"].grid).final
    flops = flops_per_image(GRAPH, 3)
    assert final.hours == (40 * 60 + 1) / 3600
    assert final.accuracy == pytest.approx(0.805)
    expected = 5 * (flops.evaluation * 50_000 + flops.training * 1_280_000) / (40 * 60 + 1) / 1e9
    assert final.gflops == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("hyperparameter_epoch/zzzzz/model.json", "hyperparameter_epoch/zzzzz/model.json is missing."),
        ("hyperparameter_epoch/zzzzz/0.json", "hyperparameter_epoch/zzzzz/0.json is missing."),
        ("trials/zzzzz/trial.log", "trials/zzzzz/trial.log is missing."),
        ("trials/zzzzz/parameter.cfg", "trials/zzzzz/parameter.cfg is missing."),
    ],
)
def test_a_file_that_is_missing_is_named_and_the_trial_stays(folder, path, problem):
    (folder / path).unlink()
    found = read_experiment(folder)
    assert problem in found.problems
    assert found.state == "incomplete"
    assert "zzzzz" in [trial.name for trial in found.trials]


def test_a_trial_without_a_log_is_named(folder):
    write_trial(folder, "lost1", "", sequence=2)
    for file in (folder / "trials/lost1").iterdir():
        file.unlink()
    (folder / "trials/lost1").rmdir()
    assert read_experiment(folder).problems == ["Trial lost1 has no log: trials/lost1 is missing."]


def test_a_training_of_an_ended_trial_without_an_epoch_is_named(folder):
    (folder / "hyperparameter_epoch/zzzzz/1.json").write_text("{}")
    assert read_experiment(folder).problems == ["Training 1 of trial zzzzz has no epoch in trials/zzzzz/trial.log."]


def test_an_unknown_layer_leaves_the_operations_unknown(folder):
    graph = json.loads((folder / "hyperparameter_epoch/zzzzz/model.json").read_text())
    graph["layer_list"][2][1][0] = "StubSwish"
    (folder / "hyperparameter_epoch/zzzzz/model.json").write_text(json.dumps(graph))
    found = read_experiment(folder)
    assert found.trainings[0].flops is None
    assert "training 0 of trial zzzzz are not known. There is no count for layer 3 (StubSwish)" in found.problems[0]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "is not a JSON object"),
        ("[1]", "is not a JSON object"),
        ("null", "is not a JSON object"),
        ("[" * 100_000, "is not a JSON object"),
        ('{"start_date": 1}', "has the start_date 1, which is not like '11/18/2026, 00:03:07'"),
        ('{"start_date": "<script>"}', "has the start_date '<script>'"),
        ("x" * 3_000_000, "is larger than 2 MB"),
    ],
)
def test_what_cannot_be_read_is_named(folder, content, problem):
    (folder / "hyperparameter_epoch/zzzzz/0.json").write_text(content)
    found = read_experiment(folder)
    assert any(f"hyperparameter_epoch/zzzzz/0.json {problem}" in sentence for sentence in found.problems)
    assert found.started == seconds(5)  # of the other trial


def test_links_are_not_followed_out_of_the_folder(folder, tmp_path):
    outside = write_trial(tmp_path / "other", "bbbbb", LOG)
    (folder / "trials/bbbbb").symlink_to(outside / "trials/bbbbb")
    log = folder / "trials/zzzzz/trial.log"
    log.unlink()
    log.symlink_to(outside / "trials/bbbbb/trial.log")
    (folder / "trials/loops").symlink_to("loops")
    found = read_experiment(folder)
    assert [len(trial.trainings) for trial in found.trials] == [0, 2]
    assert "trials/bbbbb is a link that leads out of the folder, and is not followed." in found.problems
    assert "trials/zzzzz/trial.log is a link that leads out of the folder, and is not followed." in found.problems
    assert any(problem.startswith("trials/loops is") for problem in found.problems)


def test_odd_names_are_left_out_in_words_that_can_be_shown(folder):
    (folder / "trials" / "a\nb<script>\udcff").mkdir()
    (problem,) = read_experiment(folder).problems
    assert problem == r"In trials, 'a\nb<script>\udcff' was left out for its name."


def test_a_folder_that_is_no_experiment(tmp_path):
    found = read_experiment(tmp_path)
    assert (found.state, found.trials, found.started) == ("no_data", [], None)
    assert found.problems == [f"There is no trial in the folder trials of {tmp_path.name}."]

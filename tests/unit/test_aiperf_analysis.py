"""Experiments of Rackmark's own searches, read as logs: by the images and the rules that they name themselves."""

from __future__ import annotations

import pytest
from log_fixture import analyzed, outcome_of
from rackmark.aiperf.result import read_result
from rackmark.formats.aiperf_tree import write_tree
from unit.analysis_folders_fixture import run
from unit.automl_experiment import Search
from unit.test_aiperf_tree import TEMPLATES


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "logs/2n1g/r1/experiment"
    search = Search(folder, workers=2, duration=100)
    search.trial(0, [0.3, 0.6, 0.7], epoch=30)
    search.trial(1, [0.5, 0.72], epoch=45)
    search.trial(0, state="crashed", father=1)
    return folder


def test_a_search_is_one_repeat_with_its_score(tmp_path, folder):
    found = outcome_of(tmp_path / "logs")
    (case,) = found.summary["cases"]
    result = read_result(folder)
    assert (case["case"], case["state"], found.summary["unit"]) == ("2n1g", "ok", "GFLOPS")
    assert (case["median"], case["accuracy"]) == (result.score.final.gflops, 0.72)
    report = found.files["report.md"].decode()
    assert "Final score by lab" in report and "Time (min)" in report
    assert "keeps the rules of aiperf, or those of the profile that it names itself" in report


def test_its_case_is_the_one_that_it_names(tmp_path, folder):
    folder.rename(tmp_path / "logs/Abc123")
    (case,) = outcome_of(tmp_path / "logs").summary["cases"]
    assert (case["case"], case["precision"], case["state"]) == ("2n1g", "fp32", "ok")


def test_what_was_written_of_it_afterwards_is_no_further_log(tmp_path, folder):
    """Results, monitors, and links by which AIPerf's script finds the experiment."""
    write_tree(folder.parent, read_result(folder), "ok", None, TEMPLATES)
    (analysis,) = analyzed(tmp_path / "logs")
    assert analysis.manifest.dialect == "aiperf"
    assert outcome_of(tmp_path / "logs").summary["cases"][0]["repeats_total"] == 1


def test_the_rules_of_another_profile_can_be_asked_for(tmp_path, folder):
    found = run(outcome_of(tmp_path / "logs", profile="aiperf"))
    assert found["state"] == "rule_failed"
    assert found["reason"].startswith("The running time is 0.03 h, aiperf asks for at least 1 h.")
    assert "precision" not in found["reason"]  # the search says its own


def test_a_search_that_lacks_something_is_incomplete(tmp_path, folder):
    (folder / "trials/00001/trial.log").write_text("")
    found = run(outcome_of(tmp_path / "logs"))
    assert found["state"] == "incomplete"
    assert "Trial 00001 finished 2 epochs by the history, and 0 by its trial.log." in found["reason"]
    assert found["throughput"] is None

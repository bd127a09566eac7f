"""Workloads of other kinds than a training with ranks: folders of the tests, of which the engine knows nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.local_runs import Runs

WORKLOADS = Path(__file__).parents[1] / "workloads"


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def measured(runs, workload, **variables):
    done = runs.play(benchmark_workload=str(WORKLOADS / workload), **variables)
    assert done.returncode == 0, done.stdout
    (case,) = runs.summary()["cases"]
    return case, done.stdout


def repeat(runs, number=1):
    (path,) = runs.latest().glob(f"cases/*/r{number}")
    return path


def test_a_program_of_shell_and_awk_without_ranks_states_what_it_measured(runs):
    case, shown = measured(runs, "sorting")
    assert runs.summary()["headline"] == "lines" and runs.summary()["unit"] == "lines/s"
    lines, seconds = case["measures"]["lines"], case["measures"]["seconds"]
    assert case["median"] == lines["median"] == sorted(lines["values"])[0] / 2 + sorted(lines["values"])[1] / 2
    assert (lines["better"], seconds["better"], seconds["unit"]) == ("higher", "lower", "s")
    for rate, took in zip(lines["values"], seconds["values"]):
        assert rate * took == pytest.approx(20000)
    assert [path.name for path in repeat(runs).glob("rank-*.log")] == ["rank-0.log"]
    assert len((runs.shared() / "cases/1n1g/r1/sorted.txt").read_text().splitlines()) == 20000
    assert "lines/s" in shown
    report = (runs.latest() / "report.html").read_text()
    assert "seconds, s" in report and "The headline is lines: as the program states lines_per_second" in report
    prometheus = (runs.latest() / "metrics.prom").read_text()
    assert f'measure="seconds",unit="s",better="lower"}} {seconds["median"]!r}' in prometheus


def test_a_rule_that_is_broken_leaves_no_number(runs):
    done = runs.play(benchmark_workload=str(WORKLOADS / "sorting"), repeats=1, benchmark_settings={"lines": 0})
    assert done.returncode != 0
    (only,) = runs.repeats()
    assert (only["state"], only["measures"]) == ("rule_failed", {"lines": None, "seconds": None})
    assert "The rule lines >= 1 does not hold: lines is 0." in only["reason"]


def test_a_search_counts_its_trials_and_takes_the_best(runs):
    case, _ = measured(runs, "search")
    measures = case["measures"]
    assert (measures["trials"]["values"], measures["failed"]["values"]) == ([7.0, 7.0], [2.0, 2.0])
    log = (repeat(runs) / "rank-0.log").read_text()
    scores = [json.loads(line[9:]).get("score") for line in log.splitlines() if line.startswith("RACKMARK ")]
    assert measures["best"]["values"][0] == max(score for score in scores if score is not None)
    assert case["median"] == measures["best"]["median"]


def test_a_profile_of_rules_is_chosen(runs):
    done = runs.play(benchmark_workload=str(WORKLOADS / "search"), repeats=1, rules="strict")
    assert done.returncode != 0
    assert "The rule failed <= 0 does not hold: failed is 2." in runs.repeats()[0]["reason"]


def test_a_log_in_a_dialect_of_others_is_followed_judged_and_reported(runs):
    """Long enough to be looked at while it runs."""
    case, shown = measured(runs, "flaglike", steps=60, repeats=1)
    assert case["accuracy"] == 0.75
    (rate,) = case["measures"]["throughput"]["values"]
    assert 40 < rate <= 80  # four samples in each step of 0.05 s; this machine may be slower, never faster
    assert "step " in shown


def test_a_log_without_its_result_is_no_result(runs):
    done = runs.play(benchmark_workload=str(WORKLOADS / "flaglike"), repeats=1, benchmark_flags=["--nonsense"])
    assert done.returncode != 0
    (only,) = runs.repeats()
    assert only["state"] == "launch_failed" and "unrecognized arguments: --nonsense" in only["reason"]


def test_text_is_data_too(runs, tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "one.txt").write_text("to be or not to be")
    (texts / "two.txt").write_text("that is the question")
    case, _ = measured(runs, "corpus", data=str(texts))
    assert case["state"] == "ok"
    assert '"distinct": 8' in (repeat(runs) / "rank-0.log").read_text()
    facts = json.loads((repeat(runs) / "preflight.json").read_text())["nodes"]
    (node,) = facts.values()
    assert node["dataset"]["files"] == 2 and node["dataset"]["bytes"] == 38


def test_data_of_another_kind_is_refused_by_the_preflight(runs, tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "one.png").write_bytes(b"\x89PNG")
    done = runs.play(benchmark_workload=str(WORKLOADS / "corpus"), data=str(tmp_path / "pictures"))
    assert done.returncode != 0
    (only,) = runs.repeats()
    assert only["state"] == "preflight_failed" and "pictures" in only["reason"]

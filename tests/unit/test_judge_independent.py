"""A search on nodes that work by themselves: what its repeat is worth, from the job's own word and its experiment."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rackmark.aiperf.rules import PROFILES
from rackmark.judging.result import Result
from rackmark.run.cases import Case
from rackmark.run.manifest import PlannedCase
from rackmark.run.measures import Measure
from rackmark.run.rules import condition
from rackmark.run.workload_folder import load
from unit.automl_experiment import Search
from unit.judged import ASKED, judged
from unit.run_fixture import planned_case, write_job

CASE = Case(2, 1)
SEARCH = replace(
    ASKED,
    case=PlannedCase(**{**planned_case(CASE, repeats=1), "batch_per_device": 64, "precision": "fp32"}),
    ranks="node",
    measure="search",
    measures={
        "score": Measure("score", "GFLOPS", "higher", "stated.score"),
        "accuracy": Measure("accuracy", "%", "higher", "stated.accuracy"),
        "hours": Measure("hours", "h", "higher", "stated.hours"),
        "trials_lost": Measure("trials_lost", "trials", "lower", "stated.trials_lost"),
    },
    headline="score",
    rules=[condition("accuracy >= 70"), condition("hours >= 0.01")],
    independent=True,
    result="aiperf",
)


@pytest.fixture
def repeat(tmp_path):
    folder = tmp_path / "r1"
    search = Search(folder / "experiment", workers=2)
    for worker in (0, 1):
        search.trial(worker, (0.5, 0.72))
        search.trial(worker, (0.6, 0.71), father=0)
        said = {"event": "start", "time": 1.0, "rank": worker, "world_size": 2, "host": f"node{worker + 1}"}
        log = json.dumps({**said, "device": "cpu", "batch": 64, "precision": "fp32"})
        (folder / f"rank-{worker}.log").write_text(f"RACKMARK {log}\n")
        (folder / f"rank-{worker}.exit").write_text("0\n")
    write_job(folder, "COMPLETED")
    end(folder)
    return folder


def end(folder, **changes):
    said = {"state": "ok", "reason": None, "exit_status": 0, "started": 1.0, "ended": 99.0, "nodes": ["node1", "node2"]}
    (folder / "end.json").write_text(json.dumps({**said, **changes}))


def worth(folder: Path) -> Result:
    return judged(folder, SEARCH)


def test_its_numbers_are_those_of_the_experiment(repeat):
    result = worth(repeat)
    assert (result.state, result.reason) == ("ok", None)
    assert result.measures["accuracy"] == pytest.approx(72)
    assert result.measures["score"] > 0
    assert result.measures["trials_lost"] == 0


def test_a_rule_that_is_broken_is_said_in_the_words_of_aiperf_and_ours(repeat):
    result = judged(repeat, replace(SEARCH, rules=[condition("accuracy >= 72.5")]))
    assert result.state == "rule_failed"
    assert result.reason == (
        "!!! Test failed due to low accuracy !!! The rule accuracy >= 72.5 does not hold: accuracy is 72."
    )


def test_just_below_a_rule_shows_by_how_much(repeat):
    result = judged(repeat, replace(SEARCH, rules=[condition("accuracy >= 72.0000001")]))
    assert "accuracy is 72" in result.reason
    assert judged(repeat, replace(SEARCH, rules=[condition("accuracy >= 72")])).state == "ok"


def test_more_lost_nodes_than_may_be_is_what_the_job_says(repeat):
    (repeat / "rank-1.exit").unlink()
    end(repeat, state="node_fail", exit_status=7, reason="node2 was lost: what ran there left no exit status.")
    write_job(repeat, "FAILED", "7:0")
    result = worth(repeat)
    assert result.state == "node_fail"
    assert "node2 was lost" in result.reason


def test_a_few_of_many_nodes_may_be_lost(repeat):
    (repeat / "rank-1.exit").unlink()
    end(repeat, reason="node2 was lost: what ran there left no exit status. The others went on to the end.")
    assert worth(repeat).state == "ok"


def test_a_job_that_its_last_node_ended_is_not_cancelled(repeat):
    write_job(repeat, "CANCELLED by 1000")
    end(repeat, ended_by="node2")
    assert worth(repeat).state == "ok"
    end(repeat)
    assert worth(repeat).state == "cancelled"


def test_a_worker_that_failed_makes_it_incomplete(repeat):
    (repeat / "rank-1.exit").write_text("1\n")
    (repeat / "rank-1.log").write_text((repeat / "rank-1.log").read_text() + "ValueError: no such graph\n")
    end(repeat, state="failed", exit_status=1, first_failed=1, reason="Rank 1 on node2 ended with exit status 1.")
    write_job(repeat, "FAILED", "1:0")
    result = worth(repeat)
    assert result.state == "incomplete"
    assert result.reason.startswith("Rank 1 on node2 ended with exit status 1.")
    assert "ValueError: no such graph" in result.reason


def test_an_experiment_from_which_something_is_missing_is_incomplete(repeat):
    next(repeat.glob("experiment/hyperparameter_epoch/*/model.json")).unlink()
    result = worth(repeat)
    assert result.state == "incomplete"
    assert "model.json is missing" in result.reason
    assert result.measures["score"] is None


def test_without_an_experiment_there_is_no_score(tmp_path, repeat):
    (repeat / "experiment").rename(tmp_path / "elsewhere")
    result = worth(repeat)
    assert result.state == "no_data"


def test_the_rules_of_the_workload_are_those_of_the_profiles_of_aiperf():
    content = load(Path(__file__).parents[2] / "workloads/automl")
    assert content["rules"].keys() == content["presets"].keys() == PROFILES.keys()
    for name, rules in content["rules"].items():
        asked = {rule.name: rule.bound for rule in map(condition, rules)}
        profile = PROFILES[name]
        assert asked["accuracy"] == profile.accuracy_percent, name
        assert asked["hours"] == pytest.approx(profile.hours), name
        assert asked.get("precision") == profile.precision or name == "lab"

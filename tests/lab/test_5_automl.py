"""The search for networks as users run it: real trainings in Slurm, in which processes and nodes die, and its score.

Searches last 95 seconds: the rules of the lab ask for 90.
"""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from lab.counting_runs import only_repeat
from lab.test_5_search_nodes import power_on
from unit.test_aiperf_recount import recounted

HOURS = 0.0264


@contextmanager
def searching(cluster, case, **variables):
    """A run of one case, as its playbook's process."""
    given = json.dumps({"cases": case, "hours": HOURS, "benchmark_runs_dir": str(cluster.runs_dir), **variables})
    with cluster.playing("run_automl.yml", "-e", given) as playbook:
        yield playbook


def experiment(cluster, case):
    """The newest one of a case, on the cluster."""
    return cluster.on(
        "head", f"ls -dt /userhome/rackmark/runs/*-automl*/cases/{case}/r1/experiment 2>/dev/null | head -n 1"
    )


def history(cluster, case):
    lines = cluster.on("head", f"cat {experiment(cluster, case)}/history/*.jsonl 2>/dev/null", check=False).splitlines()
    return [json.loads(line) for line in lines]


def trials_ended(cluster, case):
    return sum(record["event"] == "ended" and record["state"] == "ok" for record in history(cluster, case))


def nodes_of(cluster, case):
    names = cluster.on("head", f"squeue --noheader --format='%j %N' --user=rackmark | grep :{case}: | cut -d' ' -f2")
    return cluster.on("head", f"scontrol show hostnames {names}").split()


def collected(cluster, case):
    """Of the run whose report was written last."""
    found = sorted(cluster.runs_dir.glob(f"*-automl*/cases/{case}/r1/experiment"))
    return found[-1]


def records_of(folder):
    lines = [line for file in sorted((folder / "history").iterdir()) for line in file.read_text().splitlines()]
    return [json.loads(line) for line in lines]


def assert_nothing_is_there_twice(folder):
    started = [record for record in records_of(folder) if record["event"] == "started"]
    numbers, digests = [record["seq"] for record in started], [record["digest"] for record in started]
    workers = len(list((folder / "history").iterdir()))
    later = [record["digest"] for record in started if record["seq"] >= workers]  # all begin with the start network
    assert len(set(numbers)) == len(numbers)
    assert len(set(later)) == len(later), digests


def test_the_plan_is_shown_and_nothing_is_written(provisioned):
    before = provisioned.on("head", "ls /userhome/rackmark/runs 2>/dev/null", check=False)
    done = provisioned.play("run_automl.yml", cmdline="--check", nodes=4).succeeded()
    assert "Each job searches for 2.5 min, and gives score in GFLOPS" in done.output
    assert provisioned.on("head", "ls /userhome/rackmark/runs 2>/dev/null", check=False) == before


@pytest.fixture(scope="module")
def searched(provisioned):
    """A search in which a worker is killed on one node, and a trial on the other."""
    with searching(provisioned, "2n1g") as playbook:
        provisioned.wait_until(lambda: trials_ended(provisioned, "2n1g") >= 4, "four trials ended", seconds=400)
        first, second = nodes_of(provisioned, "2n1g")
        provisioned.on(first, "pkill -KILL -u rackmark -f '[w]orker.py' --oldest")
        provisioned.on(second, "pkill -KILL -u rackmark -f '[w]orker.py' --newest")
        assert playbook.wait(300) == 0
    return collected(provisioned, "2n1g")


def test_a_search_in_which_processes_are_killed_is_ok_and_scored(provisioned, searched):
    run = searched.parents[3]
    found = json.loads((run / "summary.json").read_text())["cases"][0]["runs"][0]
    assert (found["state"], found["reason"]) == ("ok", None)
    measures = found["measures"]
    assert measures["accuracy"] >= 70
    assert measures["score"] > 0
    assert measures["trials_lost"] + measures["trials_failed"] in (1, 2)
    assert measures["hours"] == pytest.approx(HOURS, abs=0.002)
    assert measures["training_share"] > 50
    assert_nothing_is_there_twice(searched)


def test_its_score_counted_once_more_and_its_report_in_aiperfs_files(searched):
    error, score, regulated = recounted(searched)
    page = (searched / "results/Report_Succeed.html").read_text()
    assert "Final Score" in page
    final = (searched / "results/results.txt").read_text().splitlines()
    rows = [line.split() for line in final if line[:1].isspace() and len(line.split()) == 4]
    assert float(rows[-1][1]) == pytest.approx(float(error), abs=0.01)
    assert float(rows[-1][2]) == pytest.approx(
        float(score), rel=0.1
    )  # killed trials have epochs that only their log has
    assert regulated
    run = searched.parents[3]
    report = (run / "report.md").read_text()
    assert "## Trials and networks" in report
    assert (run / "automl-2n1g-trials.png").stat().st_size > 1000
    node = next((searched / "device_info").iterdir())
    assert (node / "cpu_info.csv").read_text()


@pytest.fixture
def whole_again(provisioned):
    yield
    power_on(provisioned)


def test_a_search_that_lost_the_node_that_led_its_job_goes_on_and_ends_by_itself(provisioned, searched, whole_again):
    with searching(provisioned, "3n1g") as playbook:
        provisioned.wait_until(lambda: "3n1g" in experiment(provisioned, "3n1g"), "it has begun", seconds=120)
        provisioned.wait_until(lambda: trials_ended(provisioned, "3n1g") >= 4, "four trials ended", seconds=120)
        provisioned.kill_power(nodes_of(provisioned, "3n1g")[0])
        ended = trials_ended(provisioned, "3n1g")
        provisioned.wait_until(lambda: trials_ended(provisioned, "3n1g") > ended, "others go on", seconds=240)
        assert playbook.wait(240) != 0
    found = only_repeat(provisioned, "3n1g")
    assert found["state"] == "node_fail"
    assert "ended the job, as node1 could not." in found["reason"]
    folder = collected(provisioned, "3n1g")
    began = min(record["time"] for record in records_of(folder) if record["event"] == "started")
    ended = [record for record in records_of(folder) if record["event"] == "ended"]
    started = [record for record in records_of(folder) if record["event"] == "started"]
    assert len(started) - len(ended) == 1, "one trial is lost, that of the node without power"
    assert max(record["time"] for record in ended) - began == pytest.approx(HOURS * 3600, abs=3)
    assert (folder / "results/Report_Failed.html").exists()
    assert_nothing_is_there_twice(folder)


def test_a_search_that_was_stopped_goes_on_with_what_it_had(provisioned, searched):
    with searching(provisioned, "1n1g") as playbook:
        provisioned.wait_until(lambda: "1n1g" in experiment(provisioned, "1n1g"), "it has begun", seconds=120)
        provisioned.wait_until(lambda: trials_ended(provisioned, "1n1g") >= 2, "two trials ended", seconds=120)
        playbook.kill()
    run_id = experiment(provisioned, "1n1g").split("/")[4]
    provisioned.play("playbooks/stop.yml", run_id=run_id).succeeded()
    before = [record["seq"] for record in history(provisioned, "1n1g") if record["event"] == "started"]
    done = provisioned.play("run_automl.yml", run_id=run_id).succeeded()
    assert "took 2 attempts, of which each went on where the one before had ended" in done.output
    folder = collected(provisioned, "1n1g")
    started = [record["seq"] for record in records_of(folder) if record["event"] == "started"]
    assert started[: len(before)] == before
    assert started == list(range(len(started)))
    assert_nothing_is_there_twice(folder)
    assert "stood still for" in (folder.parents[3] / "report.md").read_text()

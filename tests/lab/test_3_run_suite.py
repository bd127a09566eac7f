"""A suite through Slurm: the jobs of all its runs are in the queue at once, and are stopped and resumed as one."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml
from lab.counting_runs import COUNTING


@pytest.fixture
def listed(tmp_path):
    """Two workloads with one job in three cases altogether."""
    other = shutil.copytree(COUNTING, tmp_path / "tallying")
    declared = yaml.safe_load((other / "workload.yml").read_text())
    (other / "workload.yml").write_text(yaml.safe_dump({**declared, "name": "tallying", "title": "Tallying"}))
    path = tmp_path / "nightly.yml"
    path.write_text(
        yaml.safe_dump([{"workload": COUNTING, "cases": "1n1g,2n1g"}, {"workload": str(other), "nodes": 1}])
    )
    return str(path)


def page(cluster, suite_id):
    return json.loads((cluster.runs_dir.parent / "suites" / suite_id / "suite.json").read_text())


def test_a_suite_is_started_left_stopped_and_resumed(provisioned, listed):
    def jobs():
        names = provisioned.on("head", "squeue --noheader --user=rackmark --format=%j").split()
        return [name for name in names if name.startswith("rackmark:")]

    given = {"suite": listed, "repeats": 1, "benchmark_runs_dir": str(provisioned.runs_dir)}
    with provisioned.job_meanwhile("--nodes=4", "--exclusive"):  # none of the suite's jobs can begin
        with provisioned.playing("playbooks/suite.yml", "-e", json.dumps(given)) as playbook:
            provisioned.wait_until(lambda: len(jobs()) == 3, "the jobs of both runs are in the queue", seconds=120)
            playbook.terminate()  # killed, it would leave the process behind that asks for it
            playbook.wait(60)
        assert {name.split(":")[1].split("-", 2)[2] for name in jobs()} == {"counting", "tallying"}
        suite_id = provisioned.on("head", "ls /userhome/rackmark/suites").split()[-1]
        provisioned.play("playbooks/stop.yml", suite_id=suite_id).succeeded()
        assert jobs() == []
    stopped = page(provisioned, suite_id)
    assert [(run["workload"], run["state"]) for run in stopped["runs"]] == [
        ("counting", "failed"),
        ("tallying", "failed"),
    ]

    provisioned.play("playbooks/suite.yml", suite_id=suite_id).succeeded()
    resumed = page(provisioned, suite_id)
    assert [run["run_id"] for run in resumed["runs"]] == [run["run_id"] for run in stopped["runs"]]
    cases = [(case["case"], case["repeats_ok"]) for run in resumed["runs"] for case in run["cases"]]
    assert (resumed["state"], cases) == ("ok", [("1n1g", 1), ("2n1g", 1), ("1n1g", 1)])


def test_a_candidate_takes_turns_with_its_baseline_in_the_queue(provisioned):
    given = {"benchmark_workload": COUNTING, "cases": "1n1g", "repeats": 2, "interleave": True, "candidate": "same"}
    played = provisioned.play("playbooks/run.yml", benchmark_runs_dir=str(provisioned.runs_dir), **given).succeeded()
    assert "The repeats of these runs alternated" in played.output
    suite_id = provisioned.on("head", "ls /userhome/rackmark/suites").split()[-1]
    runs = [run["run_id"] for run in page(provisioned, suite_id)["runs"]]
    spans = [
        (json.loads(provisioned.on("head", f"cat {path}")), path.split("/")[4])
        for path in provisioned.on("head", "ls /userhome/rackmark/runs/*/cases/*/r*/job.json").split()
        if path.split("/")[4] in runs
    ]
    in_order = sorted(spans, key=lambda span: span[0]["start"])
    assert [run_id for _, run_id in in_order] == runs * 2
    assert all(one["end"] <= following["start"] for (one, _), (following, _) in zip(in_order, in_order[1:]))

"""Hosts that are run without Slurm: the first one starts ranks on the others over SSH."""

from __future__ import annotations

import json
import re

import pytest
from lab.counting_runs import COUNTING, HELD, held, only_repeat, release, run, running

OVER_SSH = {"launcher": "ssh", "benchmark_devices_per_node": 2}
PROGRAMS = "[e]ngine/|[c]ode/count.py"  # of the engine and of the ranks


@pytest.fixture(scope="module")
def open_nodes(provisioned):
    """As hosts without Slurm are: nobody needs a job to log in."""
    provisioned.play("site.yml", cmdline="--tags slurm_access", slurm_access_enabled=False).succeeded()
    yield
    provisioned.play("site.yml", cmdline="--tags slurm_access").succeeded()


@pytest.fixture(autouse=True)
def nothing_is_left(provisioned):
    yield
    assert processes(provisioned) == {}


def processes(cluster):
    """What runs on behalf of a run, on each node where there is something."""
    found = {node: cluster.on(node, f"pgrep -u rackmark -af '{PROGRAMS}'", check=False) for node in ("node1", "node2")}
    return {node: lines for node, lines in found.items() if lines}


def folder_of(cluster, known, case):
    """The repeat's folder, on the cluster, of a run that was begun since; comes back when its last rank counts."""
    ranks = int(case[0]) * 2
    pattern = f"/userhome/rackmark/runs/*-counting/cases/{case}/r1/rank-{ranks - 1}.log"

    def newest():
        logs = cluster.on("head", f"grep -ls '\"step\"' {pattern}", check=False).splitlines()
        return [log.rpartition("/")[0] for log in logs if log.split("/")[4] not in known]

    cluster.wait_until(lambda: newest() != [], f"{case} counts")
    return newest()[0]


def known_runs(cluster):
    return cluster.on("head", "ls /userhome/rackmark/runs", check=False).split()


def test_on_a_cluster_whose_nodes_want_a_job_it_is_refused_before_it_begins(provisioned):
    known = known_runs(provisioned)
    refused = run(provisioned, cases="2n2g", repeats=1, **OVER_SSH)
    refused.failed_with("node2 lets this user in only while a job of theirs runs there", "launcher=slurm")
    assert known_runs(provisioned) == known


@pytest.mark.usefixtures("open_nodes")
def test_ranks_are_spread_and_numbered_as_with_slurm(provisioned):
    run(provisioned, cases="1n2g,2n2g", repeats=1, **OVER_SSH).succeeded()
    assert only_repeat(provisioned, "1n2g")["state"] == only_repeat(provisioned, "2n2g")["state"] == "ok"
    folder = provisioned.latest_run() / "cases/2n2g/r1"
    logs = sorted(folder.glob("rank-*.log"))
    starts = [json.loads(log.read_text().splitlines()[0].removeprefix("RACKMARK ")) for log in logs]
    assert [(start["host"], start["rank"], start["local_rank"]) for start in starts] == [
        ("node1", 0, 0),
        ("node1", 1, 1),
        ("node2", 2, 0),
        ("node2", 3, 1),
    ]
    assert list(json.loads((folder / "preflight.json").read_text())["nodes"]) == ["node1", "node2"]
    assert {path.name for path in folder.glob("telemetry-*")} == {"telemetry-node1.jsonl", "telemetry-node2.jsonl"}
    assert '"end":null' in (folder / "telemetry-node2.jsonl").read_text()


@pytest.mark.usefixtures("open_nodes")
def test_a_rank_that_is_killed_on_another_host_ends_the_job(provisioned):
    known = known_runs(provisioned)
    with held(provisioned, 4), running(provisioned, cases="2n2g", repeats=1, **HELD, **OVER_SSH) as playbook:
        folder_of(provisioned, known, "2n2g")
        provisioned.on("node2", "pkill -KILL -u rackmark -f '^/[^ ]*python[^ ]* .*code/[c]ount.py' --newest")
        assert playbook.wait(30) != 0
    found = only_repeat(provisioned, "2n2g")
    assert (found["state"], found["throughput"]) == ("incomplete", None)
    assert re.search(r"[Rr]ank [23]\b.*SIGKILL", found["reason"])


@pytest.mark.usefixtures("open_nodes")
def test_a_run_whose_playbook_is_killed_goes_on_until_it_is_stopped_and_can_be_completed(provisioned):
    known = known_runs(provisioned)
    with held(provisioned, 2, 4):
        with running(provisioned, cases="1n2g,2n2g", repeats=1, **HELD, **OVER_SSH) as playbook:
            run_id = folder_of(provisioned, known, "1n2g").split("/")[4]
            playbook.kill()
        release(provisioned, 2)
        folder_of(provisioned, known, "2n2g")
        assert set(processes(provisioned)) == {"node1", "node2"}
        stopped = provisioned.play("playbooks/stop.yml", run_id=run_id, **OVER_SSH).succeeded()
    assert "1 jobs of" in stopped.output
    assert processes(provisioned) == {}
    assert only_repeat(provisioned, "1n2g")["state"] == "ok"
    assert only_repeat(provisioned, "2n2g")["state"] == "cancelled"

    # Without the launcher, Slurm's head would be asked, on which nothing of the run is.
    for playbook in ("playbooks/run.yml", "playbooks/stop.yml"):
        refused = provisioned.play(playbook, benchmark_workload=COUNTING, run_id=run_id)
        refused.failed_with("was begun with launcher=ssh: add -e launcher=ssh")

    log = f"/userhome/rackmark/runs/{run_id}/cases/1n2g/r1/rank-0.log"
    written = provisioned.on("head", f"stat -c %Y {log}")
    run(provisioned, run_id=run_id, **OVER_SSH).succeeded()
    assert only_repeat(provisioned, "2n2g")["state"] == "ok"
    assert provisioned.on("head", f"stat -c %Y {log}") == written

"""Nodes of a search that work by themselves, in real Slurm: power cuts, a restart of slurmctld, stop and resume."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from pathlib import Path

import pytest
from lab.counting_runs import only_repeat

ALONE = str(Path(__file__).parents[1] / "workloads/alone")
ENOUGH = "/userhome/rackmark/enough"


@pytest.fixture(autouse=True)
def not_enough(provisioned):
    provisioned.on("head", f"rm -f {ENOUGH}")
    yield
    provisioned.on("head", f"touch {ENOUGH}")
    left = "squeue --noheader --states=pending,running --user=rackmark"
    provisioned.wait_until(lambda: provisioned.on("head", left) == "", "no job is left")


@contextmanager
def searching(cluster, *options, **variables):
    """A run whose workers count until it is enough; its folder on the cluster."""
    given = json.dumps({"benchmark_workload": ALONE, "benchmark_runs_dir": str(cluster.runs_dir), **variables})
    known = newest(cluster)
    with cluster.playing("playbooks/run.yml", "-e", given, *options) as playbook:
        resumed = variables.get("run_id")
        cluster.wait_until(lambda: resumed or newest(cluster) not in (known, ""), "the run has a folder")
        folder = f"/userhome/rackmark/runs/{resumed or newest(cluster)}"
        playbook.folder = folder
        yield playbook


def newest(cluster):
    return cluster.on("head", "ls -t /userhome/rackmark/runs 2>/dev/null | grep alone | head -n 1")


def counts(cluster, folder):
    """What each worker has counted so far."""
    said = cluster.on("head", f"grep -h . {folder}/cases/*/r1/experiment/* 2>/dev/null", check=False)
    return [int(line) for line in said.split()]


def wait_until_all_count(cluster, folder, workers):
    cluster.wait_until(lambda: len(counts(cluster, folder)) == workers, f"all of {workers} workers count")


def enough(cluster):
    cluster.on("head", f"touch {ENOUGH}")


def nodes_of_job(cluster):
    """The one that leads the job first."""
    names = cluster.on("head", "squeue --noheader --format=%N --user=rackmark")
    found = cluster.on("head", f"scontrol show hostnames {names}").split()
    assert found[0] == cluster.on("head", "squeue --noheader --format=%B --user=rackmark")
    return found


def power_on(cluster):
    """Slurm may take its time until what a node without power had at work is over."""
    cluster.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    cluster.wait_until(lambda: set(cluster.node_states().values()) == {"idle"}, "all nodes are idle", seconds=300)


@pytest.fixture
def whole_again(provisioned, not_enough):
    yield
    enough(provisioned)
    power_on(provisioned)


@pytest.mark.parametrize("which", ["another node", "the first node"])
def test_a_node_without_power_takes_its_own_work_with_it_and_no_other(provisioned, whole_again, which):
    with searching(provisioned, cases="2n1g") as playbook:
        wait_until_all_count(provisioned, playbook.folder, 2)
        names = nodes_of_job(provisioned)
        cut, left = (0, 1) if which == "the first node" else (1, 0)
        provisioned.kill_power(names[cut])
        before = counts(provisioned, playbook.folder)[left]
        provisioned.wait_until(lambda: counts(provisioned, playbook.folder)[left] > before + 20, "the other goes on")
        enough(provisioned)
        assert playbook.wait(120) != 0
    found = only_repeat(provisioned, "2n1g")
    assert found["state"] == "node_fail"
    assert f"{names[cut]} was lost: what ran there left no exit status." in found["reason"]
    assert (f"{names[1]} ended the job, as {names[0]} could not." in found["reason"]) == (cut == 0)


def test_a_search_outlives_its_playbook_and_slurmctld_and_is_stopped_and_resumed(provisioned):
    with searching(provisioned, cases="2n1g") as playbook:
        wait_until_all_count(provisioned, playbook.folder, 2)
        playbook.kill()
    run_id = playbook.folder.rpartition("/")[2]
    provisioned.on("head", "systemctl restart slurmctld")
    before = counts(provisioned, playbook.folder)
    provisioned.wait_until(
        lambda: min(counts(provisioned, playbook.folder)) > max(before), "both nodes go on without them"
    )
    provisioned.wait_until(
        lambda: (
            re.search(r"^rackmark trials=\d+$", provisioned.on("head", "squeue --noheader --format=%k")) is not None
        ),
        "the job's comment says how far it is",
    )
    done = provisioned.play("playbooks/stop.yml", run_id=run_id).succeeded()
    assert "1 jobs of" in done.output
    assert only_repeat(provisioned, "2n1g")["state"] == "cancelled"
    stopped_at = counts(provisioned, playbook.folder)
    with searching(provisioned, run_id=run_id) as again:
        provisioned.wait_until(
            lambda: min(counts(provisioned, again.folder)) > max(stopped_at), "both nodes go on where they had stopped"
        )
        enough(provisioned)
        assert again.wait(60) == 0
    found = only_repeat(provisioned, "2n1g")
    assert (found["state"], found["attempts"]) == ("ok", 2)

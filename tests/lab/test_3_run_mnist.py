"""run_mnist.yml through Slurm: ranks of Horovod on two nodes find each other without horovodrun, SSH or MPI."""

from __future__ import annotations

import json

import pytest
from lab.mnist_runs import FASHION, PACKAGE, one, share_environment


@pytest.fixture(scope="module")
def run(provisioned):
    share_environment(provisioned.directory / "shared")
    provisioned.play("run_mnist.yml", nodes=2, repeats=1).succeeded()
    return provisioned.latest_run()


@pytest.fixture(scope="module")
def summary(run):
    return json.loads((run / "summary.json").read_text())


def test_one_node_and_two_are_ok_and_have_learned(summary):
    assert (summary["state"], summary["simulated"]) == ("ok", ["nodes"])
    assert [case["case"] for case in summary["cases"]] == ["1n1g", "2n1g"]
    for case in summary["cases"]:
        (repeat,) = case["runs"]
        assert repeat["throughput"] > 0
        assert 0.75 <= repeat["accuracy"] <= 0.90


def test_ranks_on_two_nodes_have_the_same_weights(run):
    repeat = run / "cases/2n1g/r1"
    assert [one(repeat, rank, "start")["host"] for rank in (0, 1)] == ["node1", "node2"]
    ends = [one(repeat, rank, "end")["weights"] for rank in (0, 1)]
    assert ends[0] == ends[1]


def test_nodes_got_the_data_and_all_saw_the_same(provisioned, run):
    preflight = json.loads((run / "cases/2n1g/r1/preflight.json").read_text())
    found = [node["dataset"] for node in preflight["nodes"].values()]
    assert len(found) == 2 and found[0] == found[1]
    assert (found[0]["train"], found[0]["t10k"]) == (60_000, 10_000)
    assert provisioned.on("node2", f"dpkg-query --show --showformat='${{Status}}' {PACKAGE}") == "install ok installed"
    assert one(run / "cases/2n1g/r1", 1, "start")["data"].startswith("60000 training and 10000 test images")
    assert FASHION.name in json.loads((run / "cases/2n1g/r1/record.json").read_text())["dataset"]


def test_hosts_of_a_repeat_are_there_for_horovodrun(provisioned, run):
    shared = f"/userhome/rackmark/runs/{run.name}/cases/2n1g/r1"
    assert provisioned.on("head", f"cat {shared}/hostfile").splitlines() == ["node1 slots=1", "node2 slots=1"]

"""What only a machine at rest shows: how much of it the nodes get, and how much faster several of them are."""

from __future__ import annotations

import json
import time

import pytest
from lab.cluster import HostTraces


def test_a_compute_node_gets_its_share_of_cpu(cluster):
    share = json.loads((cluster.directory / "lab.json").read_text())["cpu_share"]
    burn = "import time; e = time.time() + 3\nwhile time.time() < e: pass\nprint(time.process_time())"
    assert float(cluster.on("node1", f"python3 -c '{burn}'")) / 3 == pytest.approx(share, rel=0.25)


def test_five_nodes_answer_soon_after_they_are_asked_for(cluster, record_property):
    """Measured and recorded; a slow machine is no failure."""
    for node in ("head", "node1", "node2", "node3", "node4"):
        cluster.kill_power(node)
    began = time.monotonic()
    cluster.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    record_property("seconds_until_five_nodes_answer", round(time.monotonic() - began, 1))


def test_four_nodes_are_clearly_faster_than_two_and_two_than_one(provisioned):
    provisioned.play("run_resnet.yml", nodes=4, repeats=3).succeeded()
    summary = json.loads((provisioned.latest_run() / "summary.json").read_text())
    one, two, four = summary["cases"]
    assert one["median"] < two["median"] < four["median"]
    assert four["speedup"] > 1.5


def test_a_cluster_that_is_removed_leaves_nothing_on_the_machine(no_cluster):
    """Whatever it is called; the lab tier looks for what bears the cluster's name."""
    lab = {"lab_name": "gone", "lab_subnet": "10.81.0.0/24"}
    no_cluster.down()
    before = HostTraces.now("gone")
    no_cluster.play("playbooks/lab_up.yml", lab_nodes=2, **lab).succeeded()
    assert HostTraces.now("gone") != before
    no_cluster.play("playbooks/lab_down.yml", **lab).succeeded()
    assert HostTraces.now("gone") == before

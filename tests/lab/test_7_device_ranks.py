"""Eight devices on each of four nodes: 32 ranks, each with its own. Devices are simulated, processors do the work."""

from __future__ import annotations

import json

import pytest
from lab.cluster import Cluster

NODES = ("node1", "node2", "node3", "node4")


@pytest.fixture(scope="module")
def devices(no_cluster):
    cluster = Cluster(no_cluster.artifacts)
    cluster.play("playbooks/lab_down.yml").succeeded()
    cluster.play("playbooks/lab_up.yml", lab_nodes=4, lab_accelerators=dict.fromkeys(NODES, "nvidia:8")).succeeded()
    cluster.play("site.yml", cmdline="--skip-tags nvidia,docker").succeeded()
    yield cluster
    cluster.play("playbooks/lab_down.yml").succeeded()


def test_resnet_trains_on_32_ranks(devices):
    devices.play("run_resnet.yml", preset="tiny", cases="4n8g").succeeded()
    run = devices.latest_run()
    summary = json.loads((run / "summary.json").read_text())
    (case,) = summary["cases"]
    assert (summary["state"], case["world_size"], case["repeats_ok"]) == ("ok", 32, 1)
    assert set(summary["simulated"]) == {"nodes", "accelerators"}
    assert summary["baseline"] is None
    folder = run / "cases/4n8g/r1"
    starts = {}
    for rank in range(32):
        first = next(line for line in (folder / f"rank-{rank}.log").read_text().splitlines() if "RACKMARK" in line)
        starts[rank] = json.loads(first.removeprefix("RACKMARK "))
    assert {rank: start["rank"] for rank, start in starts.items()} == {rank: rank for rank in range(32)}
    assert [starts[rank]["local_rank"] for rank in range(32)] == list(range(8)) * 4
    assert [starts[rank]["host"] for rank in range(32)] == [node for node in NODES for _ in range(8)]
    preflight = json.loads((folder / "preflight.json").read_text())
    assert {len(node["devices"]) for node in preflight["nodes"].values()} == {8}


def test_devices_that_a_node_lacks_are_said_before_a_rank_starts(devices):
    devices.on("node2", "mv /dev/nvidia7 /root/")
    try:
        play = devices.play("run_resnet.yml", preset="tiny", cases="2n8g")
        play.failed_with("preflight_failed", "node2")
    finally:
        devices.on("node2", "mv /root/nvidia7 /dev/ && rackmark-health || true")

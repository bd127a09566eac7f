"""As many nodes, and as many ranks, as the virtual cluster can have."""

from __future__ import annotations

import json

import pytest
from lab.cluster import SUBNET

MOST = 64


@pytest.fixture(scope="module")
def crowd(no_cluster):
    no_cluster.boot_for("many nodes", lab_nodes=MOST)
    return no_cluster


def test_sixty_four_nodes_boot(crowd):
    assert len(json.loads((crowd.directory / "lab.json").read_text())["nodes"]) == MOST + 1
    assert crowd.on(f"node{MOST}", "systemctl is-system-running || true") in ("running", "starting")
    reached = f"ping -c 1 -w 5 {SUBNET.rpartition('.')[0]}.11 >/dev/null && echo reached"
    assert crowd.on(f"node{MOST}", reached) == "reached"


def test_they_shrink_to_four_and_nothing_of_the_others_is_left(crowd):
    crowd.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    assert sorted(path.name for path in (crowd.directory / "nodes").iterdir()) == [
        *("head", "node1", "node2", "node3", "node4")
    ]


def test_thirty_two_ranks_train_together(no_cluster):
    nodes = [f"node{number}" for number in range(1, 5)]
    no_cluster.boot_for("ranks", lab_nodes=4, lab_accelerators=dict.fromkeys(nodes, "nvidia:8"))
    no_cluster.play("site.yml", cmdline="--skip-tags nvidia,docker").succeeded()
    no_cluster.play("run_resnet.yml", preset="tiny", cases="4n8g").succeeded()
    (case,) = json.loads((no_cluster.latest_run() / "summary.json").read_text())["cases"]
    assert (case["state"], case["world_size"]) == ("ok", 32)

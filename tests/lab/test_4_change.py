"""A cluster that loses a node, shrinks, grows, and goes."""

from __future__ import annotations

from lab.cluster import NAME, HostTraces


def test_a_dead_node_comes_back_with_its_disk_and_takes_jobs(provisioned):
    provisioned.on("node3", "echo kept > /root/mark && sync")
    provisioned.kill_power("node3")
    back = provisioned.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    assert any("Boot the nodes" in task for task in back.changed)
    assert provisioned.on("node3", "cat /root/mark") == "kept"
    provisioned.play("tests/lab/ask_slurm.yml").succeeded()
    assert provisioned.on("head", "srun -w node3 hostname") == "node3"


def test_shrinking_and_growing_a_provisioned_cluster(provisioned):
    provisioned.play("playbooks/lab_up.yml", lab_nodes=2).succeeded()
    assert not (provisioned.directory / "nodes/node3").exists()
    provisioned.play("site.yml", cmdline="--tags base,slurm").succeeded()
    assert provisioned.node_states() == {"node1": "idle", "node2": "idle"}
    provisioned.play("playbooks/lab_up.yml", lab_nodes=3).succeeded()
    provisioned.play("site.yml").succeeded()
    assert provisioned.node_states() == {"node1": "idle", "node2": "idle", "node3": "idle"}
    assert len(provisioned.on("head", "srun -N3 hostname").split()) == 3


def test_lab_down_leaves_no_trace(cluster):
    assert HostTraces.now(NAME).naming(NAME) != []
    cluster.play("playbooks/lab_down.yml").succeeded()
    assert HostTraces.now(NAME).naming(NAME) == []
    assert not cluster.directory.exists()
    again = cluster.play("playbooks/lab_down.yml").succeeded()
    assert again.changed == []

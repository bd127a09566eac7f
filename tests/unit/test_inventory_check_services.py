"""What is found wrong with Slurm's partitions, with ports, and with where Grafana comes from."""

from __future__ import annotations

import pytest
from rackmark.inventory_check import cluster, partitions
from rackmark.inventory_check.problems import Problems

GROUPS = {
    "all": ["head", "node1", "node2", "node3", "gone", "login1"],
    "slurm_controller": ["head"],
    "slurm_compute": ["node1", "node2", "node3"],
    "slurm_login": ["login1"],
    "rack1": ["head", "node1"],
}


def said(*given):
    return [f"{what}: {fix}" for what, fix in partitions.faults(given, GROUPS, ["gone"])]


@pytest.mark.parametrize(
    "nodes", ["ALL", "all", "rack1", "slurm_compute", "node[1-3]", "node1,node3", ["node1", "gone"], ["node2"]]
)
def test_partitions_that_slurm_starts_with(nodes):
    assert said({"name": "a", "default": True}, {"name": "b", "nodes": nodes}) == []


GROUP = "use ALL, a group of the inventory, or hosts of slurm_compute, which are node[1-3]."
KINDS = "use ALL, a group of the inventory, or hosts, as in node[1-3]."
ELSEWHERE = "put the host into that group, or take it out of the partition."
STRANGER = "which is no host of slurm_compute"
EMPTY = "which names no host of slurm_compute: give the partition a node, or take it out."


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("nosuch", f"has 'nosuch', {STRANGER}: {GROUP}"),
        ("nod1", f"has 'nod1', {STRANGER}: did you mean node1?"),
        ("rack", f"has 'rack', {STRANGER}: did you mean rack1?"),
        ("node[3-4]", f"has 'node4', {STRANGER}: did you mean node3?"),
        (["head"], f"has 'head', {STRANGER}: {ELSEWHERE}"),
        (["rack1"], f"has 'rack1', {STRANGER}: a group stands by itself, as in nodes: rack1."),
        ("node1 node2", "is 'node1 node2': write it without spaces, as in node[1-3],node7."),
        ("node[1-", "is 'node[1-': 'node[1-' is not a list of hosts: write one like node[1-3,7],gpu1."),
        ("", f"is '', {EMPTY}"),
        ([], f"is a list, {EMPTY}"),
        ("slurm_login", f"is 'slurm_login', {EMPTY}"),
        (7, f"is 7: {KINDS}"),
        ([{"a": 1}], f"is a list: {KINDS}"),
    ],
)
def test_a_partition_without_nodes_that_exist(nodes, words):
    assert said({"name": "a", "nodes": nodes}) == [f"slurm_partitions[0].nodes {words}"]


def test_partitions_are_told_apart_and_one_is_the_default():
    assert said({"name": "a", "default": True}, {"name": "A", "default": "yes"}) == [
        "slurm_partitions has 2 partitions 'a': give each a name of its own.",
        "slurm_partitions has 2 defaults, a, A: leave default: true at one of them.",
    ]


DEFAULTS = {
    "node_exporter_port": 9100,
    "accelerator_exporter_port": 9401,
    "dcgm_exporter_port": 9400,
    "slurm_exporter_port": 9402,
    "prometheus_port": 9090,
    "alertmanager_port": 9093,
    "grafana_port": 3000,
    "grafana_package": {"name": "grafana", "url": "http://a"},
}


def problems(monitoring="head", **variables):
    hosts = {
        name: cluster.Host(name, f"192.0.2.{number}", "22", True, {**DEFAULTS, **variables})
        for number, name in enumerate(("head", "node1"), 1)
    }
    groups = {
        "slurm_controller": ["head"],
        "slurm_compute": ["node1"],
        "monitoring_server": [monitoring] if monitoring else [],
    }
    found = Problems(hosts)
    cluster.check(cluster.Cluster(hosts, groups), found)
    return found.lines()


def test_services_with_ports_of_their_own():
    assert problems() == []
    # One of the two runs on a node, and only where somebody reads it.
    assert problems(dcgm_exporter_port=9401) == []
    assert problems(monitoring="", prometheus_port=9093) == []


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"prometheus_port": "9093"}, "prometheus_port and alertmanager_port have the same port 9093 (head)"),
        ({"node_exporter_port": 6818}, "node_exporter_port and slurmd have the same port 6818 (node1)"),
        ({"slurm_exporter_port": 9100}, "node_exporter_port and slurm_exporter_port have the same port 9100 (head)"),
        ({"grafana_port": 22}, "grafana_port and SSH have the same port 22 (head)"),
        (
            {"accelerator_exporter_nvidia": "dcgm", "dcgm_exporter_port": 9100},
            "node_exporter_port and dcgm_exporter_port have the same port 9100 (node1)",
        ),
    ],
)
def test_two_services_on_one_port(variables, words):
    assert problems(**variables) == [f"{words}: give each a port of its own."]


def test_grafana_comes_from_one_place():
    assert problems(grafana_repository={"url": "http://a", "key": "k"}) == [
        "grafana_repository and grafana_package are set (head): leave one: Grafana can come from one place."
    ]
    assert problems(grafana_package={"name": "grafana"}) == [
        "grafana_package has neither file nor url (head): give one of them."
    ]


def alone(name, **variables):
    """Problems of a cluster whose hosts have these variables, those of one host or of all."""
    hosts = {
        host: cluster.Host(host, f"192.0.2.{number}", "22", True, variables if name in (host, "all") else {})
        for number, host in enumerate(("head", "node1", "node2"), 1)
    }
    groups = {"slurm_controller": ["head"], "slurm_compute": ["node1", "node2"]}
    if variables.get("cluster_shared_storage") == "nfs":
        groups.update(nfs_server=["head"], nfs_clients=["node1", "node2"])
    found = Problems(hosts)
    cluster.check(cluster.Cluster(hosts, groups), found)
    return found.lines()


def test_an_empty_list_of_partitions_is_refused():
    (line,) = alone("head", slurm_partitions=[])
    assert line.startswith("slurm_partitions is an empty list: give one partition")


def test_the_port_of_ssh_is_nobody_s_to_close():
    assert alone("all", firewall_ports=[80, "8000-8010"]) == []
    (line,) = alone("all", firewall_ports=["20-30"])
    assert line == "firewall_ports has 22, by which Ansible logs in (all hosts): leave it out."


def test_what_is_exported_once_and_holds_the_shared_folder():
    nfs = {"cluster_shared_storage": "nfs", "cluster_shared_dir": "/data/cluster"}
    assert alone("all", **nfs, nfs_directories=["/data"]) == []
    assert alone("all", **nfs, nfs_directories=["/scratch", "/scratch/"]) == [
        "nfs_directories has /scratch 2 times (head): leave it in once.",
        "nfs_directories lacks cluster_shared_dir, /data/cluster (head): add it, or what it lies in.",
    ]


def test_addresses_of_devices_are_their_own():
    one, other = {"address": "198.51.100.7/24"}, {"address": "198.51.100.8/24", "gateway": "198.51.100.1"}
    assert alone("node1", ascend_device_addresses=[one, other]) == []
    assert alone("node1", ascend_device_addresses=[one, one]) == [
        "device 0 of node1 and device 1 of node1 have the same address 198.51.100.7 (node1):"
        " give each device one of its own."
    ]
    far = [one, {**other, "gateway": "203.0.113.1"}]
    (line,) = alone("node1", ascend_device_addresses=far)
    assert "ascend_device_addresses[1].gateway is 203.0.113.1, outside of the network 198.51.100.0/24" in line


def test_services_have_folders_of_their_own():
    folders = {"cluster_shared_dir": "/data/shared", "slurm_state_dir": "/data/shared/slurm"}
    assert alone("all", **folders, prometheus_storage_path="/data/metrics") == []
    (line,) = alone("all", **{**folders, "slurm_state_dir": "/data/"})
    assert line.startswith(
        "slurm_state_dir is /data, and holds cluster_shared_dir (all hosts): give it a folder of its"
    )
    (line,) = alone("all", **folders, prometheus_storage_path="/metrics", alertmanager_storage_path="/metrics/")
    assert line.startswith("prometheus_storage_path and alertmanager_storage_path are /metrics (all hosts): give each")

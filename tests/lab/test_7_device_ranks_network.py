"""Pings between the Ascend devices of two nodes. The devices are simulated, their packets cross a real network."""

from __future__ import annotations

import csv
import json
from contextlib import contextmanager

import pytest
import yaml
from lab.accelerated import PLAYBOOK as ROLES_OF_DEVICES
from lab.cluster import ROOT
from lab.stub_packages import STUBS

NODES = ("node1", "node2")
DEVICES = 4


def address(node, number):
    return f"198.51.100.{10 * (NODES.index(node) + 1) + number}"


@pytest.fixture(scope="module")
def network(no_cluster, tmp_path_factory):
    """Addresses from the inventory, set by the role, and as real ones on the nodes' own interfaces."""
    npus = dict.fromkeys(NODES, f"ascend:{DEVICES}")
    no_cluster.boot_for("ranks", lab_nodes=len(NODES), lab_accelerators=npus)
    no_cluster.play("playbooks/lab_up.yml", lab_nodes=len(NODES), lab_accelerators=npus).succeeded()
    made = Network(no_cluster, tmp_path_factory.mktemp("inventory"))
    for node in NODES:
        no_cluster.copy(STUBS / "hccn_tool", node, "/usr/local/bin/hccn_tool")
    made.play(ROLES_OF_DEVICES, "--tags ascend").succeeded()
    for node in NODES:
        for number in range(DEVICES):
            no_cluster.on(node, f"ip address add {address(node, number)}/24 dev host0")
    yield made
    for node in NODES:
        no_cluster.on(node, "ip address flush dev host0 to 198.51.100.0/24; rm -f /etc/hccn.conf")


class Network:
    def __init__(self, cluster, folder):
        self.cluster = cluster
        self.folder = folder
        self.given = {node: [{"address": f"{address(node, number)}/24"} for number in range(DEVICES)] for node in NODES}

    def play(self, playbook="playbooks/device_network.yml", cmdline="", given=None, **variables):
        path = self.folder / "hosts.yml"
        hosts = {node: {"ascend_device_addresses": entries} for node, entries in (given or self.given).items()}
        path.write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
        return self.cluster.play(playbook, cmdline=f"-i {ROOT / 'inventory'} -i {path} {cmdline}", **variables)

    def on(self, node, command):
        return self.cluster.on(node, command)

    @contextmanager
    def meanwhile(self, node, fault, repair):
        self.on(node, fault)
        try:
            yield
        finally:
            self.on(node, repair)

    def latest(self):
        return max((self.cluster.runs_dir.parent / "device_networks").iterdir())

    def problems(self):
        return json.loads((self.latest() / "network.json").read_text())["problems"]


def test_every_device_reaches_every_other(network):
    said = network.play().succeeded().output
    assert "within a node: 24 of 24 tested pairs reached" in said
    assert "between nodes, in a network: 32 of 32 tested pairs reached" in said
    assert "Simulated: nodes, accelerators." in said
    folder = network.latest()
    result = json.loads((folder / "network.json").read_text())
    assert (result["passed"], result["reached"], result["problems"]) == (True, 56, [])
    assert result["simulated"] == ["nodes", "accelerators"]
    rows = list(csv.reader((folder / "matrix.csv").open()))
    assert rows[0] == ["from / to", *(f"{node} device {number}" for node in NODES for number in range(DEVICES))]
    times = [cell for place, row in enumerate(rows[1:]) for other, cell in enumerate(row[1:]) if place != other]
    assert len(times) == 56
    assert all(float(time) > 0 for time in times)
    assert "node1 device 0 to node2 device 3" in (folder / "network.html").read_text()


def test_a_device_without_a_link_is_named_and_nothing_else(network):
    gone = f"{address('node2', 3)}/24 dev host0"
    with network.meanwhile("node2", f"ip address del {gone}", f"ip address add {gone}"):
        network.play().failed_with("Failed: 1 problem.")
    (problem,) = network.problems()
    assert problem.startswith(
        f"node2 device 3 ({address('node2', 3)}) reaches no device and is reached by none (14 pairs)"
    )
    assert problem.endswith("the link of node2 device 3 is DOWN.")


def test_one_pair_that_fails_in_one_direction_is_named_with_the_direction(network):
    one, other = address("node1", 0), address("node2", 1)
    drop = f"ip saddr {one} ip daddr {other} icmp type echo-request drop"
    network.on("node2", "command -v nft || apt-get install --yes --quiet nftables")
    table = "nft add table ip cut && nft 'add chain ip cut in { type filter hook input priority 0; }'"
    with network.meanwhile("node2", f"{table} && nft add rule ip cut in {drop}", "nft delete table ip cut"):
        network.play().failed_with("Failed: 1 problem.")
    assert network.problems() == [
        f"node1 device 0 ({one}) does not reach node2 device 1 ({other}) (3 of 3 packets lost), which reaches it."
    ]
    row = list(csv.reader((network.latest() / "matrix.csv").open()))[1]
    assert row[6] == "lost"


def test_addresses_that_differ_fail_it_though_all_pings_arrive(network):
    stale = "sed -i s/^address_2=.*/address_2=198.51.100.99/ /etc/hccn.conf"
    right = f"sed -i s/^address_2=.*/address_2={address('node2', 2)}/ /etc/hccn.conf"
    other = {**network.given, "node1": [{"address": "198.51.100.77/24"}, *network.given["node1"][1:]]}
    with network.meanwhile("node2", stale, right):
        network.play(given=other).failed_with("Failed: 2 problems.")
    assert network.problems() == [
        f"node1: device 0 says {address('node1', 0)} and the inventory gives it 198.51.100.77: run site.yml --tags"
        " ascend, or correct ascend_device_addresses.",
        f"node2: device 2 says {address('node2', 2)} and /etc/hccn.conf has 198.51.100.99: run site.yml --tags ascend.",
    ]


def test_chosen_nodes_pairs_left_out_and_a_check(network):
    before = sorted(network.latest().parent.iterdir())
    said = network.play(cmdline="--check", nodes="node2").succeeded().output
    assert "4 devices of 1 nodes" not in said
    assert "4 devices of 1 node, 12 pairs" in said
    assert sorted(network.latest().parent.iterdir()) == before
    said = network.play(within_nodes=False).succeeded().output
    assert "24 pairs within nodes were left out" in said
    assert "32 of 32 tested pairs reached" in said


def test_what_cannot_be_tested_is_refused_with_a_sentence(network):
    network.play(nodes="node7").failed_with("nodes has 'node7', which is no number and no host or group")
    network.play(nodes="node1", within_nodes="perhaps").failed_with("within_nodes")
    network.play(minuts=3).failed_with("minuts")
    network.play(cmdline="--limit node1").failed_with("Failed: 1 problem.")
    assert network.problems() == ["node2 was not asked, and its devices were not tested: --limit leaves it out."]

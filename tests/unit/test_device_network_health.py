"""The health check of an Ascend node compares what its devices say with what they would be given at the next start."""

from __future__ import annotations

import pytest
from unit.health_node_fixture import Node

SAYS = 'echo "ipaddr:192.168.100.10$2"'


@pytest.fixture
def node(tmp_path):
    """Four devices with an address each, and a tool that says the same."""
    node = Node(tmp_path)
    node.devices()
    for number in range(4):
        (node.folder / f"dev/davinci{number}").touch()
    (node.folder / "dev/davinci_manager").touch()
    del node.sections["devices"]
    node.sections["device_network"] = {"conf": str(node.folder / "hccn.conf"), "folder": str(node.folder / "dev")}
    keep(node, *(f"192.168.100.10{number}" for number in range(4)))
    node.tool("hccn_tool", SAYS)
    return node


def keep(node, *addresses):
    lines = [
        f"address_{number}={address}\nnetmask_{number}=255.255.255.0\n" for number, address in enumerate(addresses)
    ]
    (node.folder / "hccn.conf").write_text("".join(lines))


def test_addresses_that_agree_are_no_fault(node):
    shown = node.check("--show")
    assert shown.returncode == 0
    assert "device_network ok" in shown.stdout.splitlines()


def test_a_stale_address_drains_the_node_and_is_named(node):
    keep(node, "192.168.100.100", "192.168.100.101", "192.168.100.102", "192.168.100.3")
    assert node.check("--prolog").returncode == 1
    conf = node.sections["device_network"]["conf"]
    assert node.what_slurm_was_told() == (
        f"nodename=n1 state=drain reason=rackmark: device_network: device 3 says 192.168.100.103 and {conf} has"
        " 192.168.100.3: run site.yml --tags ascend\n"
    )


@pytest.mark.parametrize(
    ("tool", "outcome"),
    [
        ('[ "$2" = 2 ] && { echo "hccn_tool is busy, please try again."; exit 1; }; ' + SAYS, "device 2"),
        ('[ "$2" = 1 ] && exec sleep 60; ' + SAYS, "device 1"),
        ("echo 'permission denied: pls check this cmd run permission.'; exit 1", "device 0, 1, 2, 3"),
    ],
    ids=["busy", "silent", "refusing"],
)
def test_a_device_that_does_not_tell_is_not_known_and_drains_nobody(node, tool, outcome):
    node.sections["node"]["time_limit"] = "6"
    node.tool("hccn_tool", tool)
    assert (
        f"device_network not known: hccn_tool does not tell the address of {outcome}\n" in node.check("--show").stdout
    )
    assert node.check("--prolog").returncode == 0
    assert node.what_slurm_was_told() == ""


def test_a_node_that_keeps_no_addresses_is_not_asked(node):
    node.tool("hccn_tool", f"touch {node.folder}/asked")
    (node.folder / "hccn.conf").unlink()
    assert "hccn.conf keeps no address of a device" in node.check("--show").stdout
    assert not (node.folder / "asked").exists()


def test_a_device_that_has_gone_is_the_business_of_another_check(node):
    (node.folder / "dev/davinci3").unlink()
    node.tool("hccn_tool", f'[ "$2" = 3 ] && {{ echo "no such device"; exit 1; }}; {SAYS}')
    assert "device_network ok" in node.check("--show").stdout


def test_prometheus_is_told_of_it_where_it_is_known(node):
    (node.folder / "metrics").mkdir()
    metrics = node.folder / "metrics/rackmark-health.prom"
    node.sections["node"]["metrics"] = str(metrics)
    node.check()
    assert 'rackmark_health_fault{check="device_network"} 0\n' in metrics.read_text()
    keep(node, "192.168.100.100", "10.0.0.1")
    node.check()
    assert 'rackmark_health_fault{check="device_network"} 1\n' in metrics.read_text()
    node.tool("hccn_tool", "exit 1")
    node.check()
    assert "device_network" not in metrics.read_text()

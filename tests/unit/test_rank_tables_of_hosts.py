"""Servers of a rank table, by the inventory and by what nodes say."""

from __future__ import annotations

import json

import pytest
from rackmark import rank_tables
from rackmark.node.rank_table import Device, RankTableError, read, written


def host(number, count=8, **more):
    addresses = [{"address": f"198.51.100.{10 * number + device}/24"} for device in range(count)]
    return {"ansible_host": f"192.0.2.{20 + number}", "ascend_device_addresses": addresses, **more}


def said(number, count=8, **more):
    devices = {str(device): f"198.51.100.{10 * number + device}" for device in range(count)}
    return {"devices": devices, "super_pod": "", "super_ids": {}, "problems": [], **more}


def servers(hostvars, form="1.0", devices="", register=None):
    if register:
        return rank_tables.servers_of(form, rank_tables.told_by_nodes(hostvars, hostvars, register), devices)
    return rank_tables.servers_of(form, rank_tables.told_by_inventory(hostvars, hostvars), devices)


def refused(hostvars, form="1.0", devices="", register=None):
    with pytest.raises(RankTableError) as error:
        written(form, servers(hostvars, form, devices, register))
    return str(error.value)


def test_hosts_with_devices_are_those_that_the_inventory_says_so_of():
    hostvars = {
        "head": {},
        "node1": host(1),
        "node2": {"cluster_accelerator": "ascend"},
        "gpu1": {"cluster_accelerator": "nvidia"},
    }
    assert rank_tables.hosts_with_devices(hostvars, hostvars) == ["node1", "node2"]


def test_the_inventory_alone_makes_a_table():
    one, two = servers({"node1": host(1), "node2": host(2)})
    assert (one.name, one.address) == ("node1", "192.0.2.21")
    assert two.devices[3] == Device(3, "198.51.100.23")


def test_chosen_devices_keep_their_physical_numbers():
    found = servers({"node1": host(1), "node2": host(2, 4)}, devices="0,2-3")
    assert [[device.number for device in server.devices] for server in found] == [[0, 2, 3]] * 2
    table = json.loads(written("1.0", found))
    assert table["server_list"][1]["device"][2] == {"device_id": "3", "device_ip": "198.51.100.23", "rank_id": "5"}


def test_everything_wrong_with_the_inventory_is_said():
    wrong = host(3)
    wrong["ascend_device_addresses"][5] = {"address": "198.51.100.35"}
    problems = refused({"node1": host(1), "node2": {}, "node3": wrong})
    assert "node2 has no ascend_device_addresses: give one for each device, or ask the devices" in problems
    assert "node3, device 5: device address '198.51.100.35' has no network: write it as 198.51.100.35/24." in problems
    assert "node2 has 4 device addresses and node1 has 8" in refused({"node1": host(1), "node2": host(2, 4)})


def test_devices_that_a_node_does_not_have_are_refused():
    several = {"node1": host(1), "node2": host(2, 4)}
    assert "node2 has devices 0-3, and devices=0-7 names 4-7 besides" in refused(several, devices="0-7")
    assert refused(several, devices="eight") == "devices=eight is not a list of devices: write one like 0-7 or 0,2."


def test_old_forms_need_the_addresses_of_nodes_and_super_pods_the_nodes_themselves():
    named = {"node1": host(1, ansible_host="node1.example")}
    assert "node1: the address of the node is not known" in refused(named, "lab")
    assert "ask the nodes of one with -e source=nodes, where npu-smi knows it, and use form 1.0" in refused(
        {"node1": host(1)}, "1.2"
    )


def test_nodes_are_held_against_the_inventory():
    stale = said(1)
    stale["devices"]["3"] = "198.51.100.99"
    hostvars = {"node1": host(1, told=stale), "node2": host(2, told=said(2))}
    assert refused(hostvars, register="told") == (
        "node1: device 3 says 198.51.100.99 and ascend_device_addresses has 198.51.100.13:"
        " run site.yml --tags ascend, or correct the inventory."
    )
    del hostvars["node1"]["ascend_device_addresses"]
    assert servers(hostvars, register="told")[0].devices[3].address == "198.51.100.99"


def test_what_nodes_cannot_say_is_named():
    silent = said(2)
    silent["devices"]["6"] = ""
    hostvars = {"node1": host(1, told=said(1)), "node2": host(2, told=silent)}
    assert refused(hostvars, register="told").startswith("node2: the address of device 6 is not known: give ascend_dev")
    hostvars = {
        "node1": host(1),
        "node2": {"told": said(2, 0)},
        "node3": {"told": said(3, problems=["device 0 differs"])},
    }
    problems = refused(hostvars, register="told")
    assert "node1 did not say the addresses of its devices: see above why it could not be asked." in problems
    assert "node2 has no Ascend device that says its address: is the driver installed?" in problems
    assert "node3: device 0 differs." in problems


def test_super_pods_come_from_the_nodes():
    def pod(number, name):
        return host(
            number, told=said(number, super_pod=name, super_ids={str(device): str(device) for device in range(8)})
        )

    found = servers({"node1": pod(1, "4"), "node2": pod(2, "5")}, "1.2", register="told")
    table = json.loads(written("1.2", found))
    assert [entry["super_pod_id"] for entry in table["super_pod_list"]] == ["4", "5"]
    assert table["server_list"][1]["device"][7]["super_device_id"] == "7"


def test_the_overview_names_nodes_ranks_and_devices():
    found = servers({"node1": host(1), "node2": host(2)}, devices="4-7")
    table = read(written("1.0", found))
    assert rank_tables.overview(table, [server.name for server in found]) == [
        "Form 1.0, the one that all frameworks read: 2 servers, 8 devices.",
        "node1 (node_0000): ranks 0 to 3, devices 4-7",
        "node2 (node_0001): ranks 4 to 7, devices 4-7",
    ]
    assert rank_tables.overview(read("[]")) == []

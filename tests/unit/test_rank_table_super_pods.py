"""Super pods in rank tables of form 1.2."""

from __future__ import annotations

import json

import pytest
from rackmark.node.rank_table import Device, Server, read, written

ONE = Server("node1", "10.0.0.1", [Device(number, f"198.18.0.{number + 1}", str(number)) for number in range(2)], "A")
TWO = Server("node2", "10.0.0.2", [Device(number, f"198.18.1.{number + 1}", str(number)) for number in range(2)], "B")


def table():
    return json.loads(written("1.2", [ONE, TWO]))


def without(content, key):
    del content[key]


WRONG_PODS = {
    "a server in no pod": (lambda pods: pods.pop(), "node_0001 is in no super pod, and others are: add it to"),
    "a pod twice": (lambda pods: pods[1].update(super_pod_id="A"), "super_pod_id A is there twice: put its servers"),
    "a pod without a name": (lambda pods: without(pods[0], "super_pod_id"), "super_pod_id of super pod 1 is missing."),
    "an unknown server": (
        lambda pods: pods[1]["server_list"].append({"server_id": "node_7"}),
        "Super pod 2 has server node_7, which is not in server_list.",
    ),
    "a server in two pods": (
        lambda pods: pods[1]["server_list"].append({"server_id": "node_0000"}),
        "node_0000 is in super_pod_list twice: a server is in one super pod.",
    ),
}


@pytest.mark.parametrize("case", WRONG_PODS)
def test_super_pods_that_do_not_fit_the_servers_are_refused(case):
    change, sentence = WRONG_PODS[case]
    content = table()
    change(content["super_pod_list"])
    problems = read(json.dumps(content)).problems
    assert any(sentence in problem for problem in problems), problems


def test_a_device_has_one_number_in_its_super_pod():
    content = table()
    content["server_list"][0]["device"][1]["super_device_id"] = "0"
    assert read(json.dumps(content)).problems == [
        "super_device_id 0 in super pod A is that of device 0 of node_0000, device 1 of node_0000;"
        " each device has one of its own."
    ]
    without(content["server_list"][0]["device"][1], "super_device_id")
    assert read(json.dumps(content)).problems == [
        "super_device_id of device 1 of node_0000 is missing: npu-smi calls it SDID."
    ]


def test_a_table_of_super_pods_without_their_list_is_one_of_servers():
    content = table()
    without(content, "super_pod_list")
    found = read(json.dumps(content))
    assert found.problems == []
    assert found.remarks == ["The table has no super_pod_list: HCCL takes the servers as they are, without super pods."]


def test_a_table_of_super_pods_as_the_documents_of_a3_show_it():
    """Devices have ports and a second address; numbers in a super pod begin at 0 in each."""
    content = table()
    for index, server in enumerate(content["server_list"]):
        server.update(server_id=f"node_{index}", host_ip=f"172.16.0.{index + 1}")
        content["super_pod_list"][index]["server_list"] = [{"server_id": f"node_{index}"}]
        without(server, "host_nic_ip")
        for device in server["device"]:
            device.update(device_port="16666", backup_device_ip=f"198.18.9.{index}", host_port="16665")
    without(content, "server_count")
    found = read(json.dumps(content))
    assert found.problems == []
    assert [server.super_pod for server in found.servers] == ["A", "B"]
    assert all("host_ip" in remark for remark in found.remarks)


def test_one_super_pod_needs_no_addresses_and_several_do():
    content = table()
    for server in content["server_list"]:
        for device in server["device"]:
            without(device, "device_ip")
            device["super_device_id"] = str(int(device["rank_id"]) + 37_748_736)
    assert "device_ip of device 0 of node_0000, device 1 of node_0000" in read(json.dumps(content)).problems[0]
    content["super_pod_list"] = [
        {"super_pod_id": "0", "server_list": [{"server_id": "node_0000"}, {"server_id": "node_0001"}]}
    ]
    assert read(json.dumps(content)).problems == []

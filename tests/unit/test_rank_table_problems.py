"""What is said of rank tables that are wrong, and of those that are right and odd."""

from __future__ import annotations

import json

import pytest
from rackmark.node.rank_table import Device, Server, read, written

ONE = Server("node1", "10.0.0.1", [Device(number, f"198.18.0.{number + 1}", str(number)) for number in range(2)], "A")
TWO = Server("node2", "10.0.0.2", [Device(number, f"198.18.1.{number + 1}", str(number)) for number in range(2)], "B")


def table(form="1.0"):
    return json.loads(written(form, [ONE, TWO]))


def without(content, key):
    del content[key]


UNREADABLE = {
    "": "The file is empty.",
    " \n": "The file is empty.",
    "[]": "A rank table is a JSON object with server_list or group_list, and this is a list.",
    "null": "A rank table is a JSON object with server_list or group_list, and this is null.",
    "12": "A rank table is a JSON object with server_list or group_list, and this is a number.",
    "{}": "This is no rank table: it has neither server_list nor group_list.",
    '{"status": "completed", // ready\n}': "This file is no JSON: line 1 has a comment, as examples in documents do;",
    '{"status": "completed"\n "version": "1.0"}': "This file is no JSON: Expecting ',' delimiter in line 2, column 2.",
    "\ufeff{}": "This file is no JSON: Unexpected UTF-8 BOM",
    "[" * 100_000: "This file is no JSON that can be read: RecursionError",
    "9" * 5_000: "This file is no JSON that can be read: ValueError",
    '{"version": "1.1", "server_list": []}': 'version is "1.1": write "1.0", or "1.2" for super pods.',
    '{"version": 1.0, "server_list": []}': 'version is 1.0: write "1.0", or "1.2" for super pods.',
    '{"server_list": []}': 'version is missing: write "1.0", or "1.2" for super pods.',
    '{"version": "2.0", "rank_list": []}': "This table has form 2.0 (rank_list), that of Ascend 950",
    '{"version": "1.0", "server_group_list": []}': "MindCluster writes it for its serving, and HCCL does not read it.",
}


@pytest.mark.parametrize("text", UNREADABLE, ids=lambda text: ascii(text[:40]))
def test_a_file_that_is_no_rank_table_gives_one_sentence(text):
    found = read(text)
    assert found.form is None
    assert found.servers == found.remarks == []
    (problem,) = found.problems
    assert UNREADABLE[text] in problem


def wrong_ranks(content):
    content["server_list"][0]["device"][1]["rank_id"] = "2"
    content["server_list"][1]["device"][0]["rank_id"] = "1"


def same_rank(content):
    content["server_list"][1]["device"][0]["rank_id"] = "1"


def from_one(content):
    for index, server in enumerate(content["server_list"]):
        for number, device in enumerate(server["device"]):
            device["rank_id"] = str(2 * index + number + 1)


WRONG = {
    "ranks as numbers": (
        lambda content: content["server_list"][0]["device"][1].update(rank_id=1),
        'rank_id of device 1 of node_0000 is 1 without quotes, and HCCL reads texts only: write "1".',
    ),
    "a rank of two devices": (
        same_rank,
        "rank_id 1 is that of device 1 of node_0000, device 0 of node_0001; each device has one of its own.",
        "No device has rank_id 2: 4 devices have the ranks 0 to 3.",
    ),
    "ranks from one": (
        from_one,
        "rank_id 4 of device 1 of node_0001 is too high: 4 devices have the ranks 0 to 3.",
        "No device has rank_id 0: 4 devices have the ranks 0 to 3.",
    ),
    "ranks of servers in turns": (
        wrong_ranks,
        "Ranks of node_0000, node_0001 are mixed with those of another server: the ranks of a server follow each",
    ),
    "a negative rank": (
        lambda content: content["server_list"][0]["device"][0].update(rank_id="-1"),
        'rank_id of device 0 of node_0000 is "-1", which is no number from 0 on.',
    ),
    "a table that is not finished": (
        lambda content: content.update(status="initializing"),
        'status is initializing: HCCL waits until it is "completed", which whoever makes the table writes last.',
    ),
    "another number of servers": (
        lambda content: content.update(server_count="3"),
        "The table says server_count 3, and server_list has 2 servers.",
    ),
    "no servers": (
        lambda content: content.update(server_list=[], server_count="0"),
        "server_list of the table is empty.",
    ),
    "servers that are none": (
        lambda content: content.update(server_list=["node1", "node2"], server_count="0"),
        "server_list of the table has entries that are no objects: write {...} for each.",
    ),
    "a server twice": (
        lambda content: content["server_list"][1].update(server_id="node_0000"),
        "server_id node_0000 is there 2 times: give each server one of its own.",
        "device_id 0 of node_0000 is there 2 times: a device has one rank.",
        "device_id 1 of node_0000 is there 2 times: a device has one rank.",
    ),
    "a server without a name": (
        lambda content: content["server_list"][0].update(server_id=""),
        "server_id of server 1 of server_list is empty.",
    ),
    "a name that is too long": (
        lambda content: content["server_list"][0].update(server_id="n" * 65),
        f"{'n' * 65} has 65 characters, and HCCL takes at most 64: shorten it.",
    ),
    "no devices": (
        lambda content: content["server_list"][1].update(device=[]),
        "device of node_0001 is empty.",
        "node_0001 has no devices: give it some, or leave it out.",
    ),
    "a placeholder": (
        lambda content: content["server_list"][0]["device"][0].update(device_ip="xx.xx.xx.xx"),
        "device_ip xx.xx.xx.xx of device 0 of node_0000 is no IP address: write it as 192.0.2.10.",
    ),
    "an address twice": (
        lambda content: content["server_list"][1]["device"][1].update(device_ip="198.18.0.1"),
        "device_ip 198.18.0.1 is that of device 0 of node_0000 and device 1 of node_0001; each device has one",
    ),
    "no addresses on several servers": (
        lambda content: [without(device, "device_ip") for device in content["server_list"][1]["device"]],
        "device_ip of device 0 of node_0001, device 1 of node_0001 is missing: hccn_tool -i 0 -ip -g says that of",
    ),
    "a device that no server has": (
        lambda content: content["server_list"][0]["device"][0].update(device_id="16"),
        "device_id 16 of node_0000 is above 15: use the physical number, as in /dev/davinci0.",
    ),
    "several things": (
        lambda content: (
            content.update(status="initializing", server_count="1"),
            content["server_list"][0]["device"][0].update(device_ip="198.18.0.300"),
            without(content["server_list"][1]["device"][1], "device_id"),
        ),
        "status is initializing",
        "The table says server_count 1, and server_list has 2 servers.",
        "device_id of device entry 2 of node_0001 is missing.",
        "device_ip 198.18.0.300 of device 0 of node_0000 is no IP address",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_all_that_is_wrong_with_a_table_is_said(case):
    change, *sentences = WRONG[case]
    content = table()
    change(content)
    problems = read(json.dumps(content)).problems
    for sentence in sentences:
        assert any(sentence in problem for problem in problems), problems
    assert len(problems) == len(sentences), problems


def test_a_key_that_is_there_twice_is_refused():
    text = written("1.0", [ONE]).replace('"rank_id": "1"', '"rank_id": "0", "rank_id": "1"')
    (problem,) = read(text).problems
    assert problem == "rank_id is 2 times in one entry, with the last value counting: keep one."


def test_remarks_are_no_problems():
    content = table()
    content["server_list"].reverse()  # ranks count, not the order in the file
    for server in content["server_list"]:
        server.update(host_ip="10.0.0.1", server_id=server["server_id"].replace("node_0000", "zeus"))
    without(content["server_list"][1]["device"][0], "device_id")
    content["server_list"][1]["device"][0]["device_id"] = "7"
    found = read(json.dumps(content))
    assert found.problems == []
    assert [server.name for server in found.servers] == ["zeus", "node_0001"]
    for words in (
        "host_ip is there for node_0001, zeus: older releases of HCCL then use the host's network cards",
        "in which node_0001 comes before zeus: MindSpore demands that order",
        "zeus: devices 1, 7 are in both halves of an Ascend 910",
    ):
        assert any(words in remark for remark in found.remarks), found.remarks


def test_one_server_alone_needs_addresses_only_on_a_910():
    content = json.loads(written("1.0", [ONE]))
    for device in content["server_list"][0]["device"]:
        without(device, "device_ip")
    found = read(json.dumps(content))
    assert found.problems == []
    assert "only an Ascend 910 needs it here" in found.remarks[0]


def test_containers_of_tensorflow_share_the_devices_of_a_server_out():
    content = table("tensorflow")
    one, two = content["group_list"][0]["instance_list"]
    two["server_id"] = one["server_id"]
    problems = read(json.dumps(content)).problems
    assert "device_id 0 of 10.0.0.1 is there 2 times: a device has one rank." in problems
    for device in two["devices"]:
        device["device_id"] = str(int(device["device_id"]) + 2)
    found = read(json.dumps(content))
    assert (found.problems, [server.name for server in found.servers]) == ([], ["node1", "node2"])


def test_an_instance_of_the_lab_form_has_one_device():
    content = table("lab")
    group = content["group_list"][0]
    group["instance_list"][0]["devices"].append(group["instance_list"].pop(1)["devices"][0])
    problems = read(json.dumps(content)).problems
    assert "Instance 1 has 2 devices: in this form each has one." in problems
    assert "The group says instance_count 4, and lists 3 instances." in problems


def test_a_table_of_a_scheduler_in_kubernetes():
    """It adds addresses of pods and the product, and names servers by address."""
    content = table()
    for index, server in enumerate(content["server_list"]):
        server.update(
            server_id=f"192.0.2.{index + 1}", container_ip=f"10.244.0.{index + 1}", hardware_type="800I-A2-32G"
        )
        without(server, "host_nic_ip")
        for number, device in enumerate(server["device"]):
            device["device_logical_id"] = str(number)
    found = read(json.dumps(content))
    assert (found.form, found.problems, found.remarks) == ("1.0", [], [])


def test_several_network_ports_of_a_device():
    content = table()
    for server in content["server_list"]:
        for device in server["device"]:
            device["device_ip"] += "," + device["device_ip"].replace("198.18", "198.19")
    assert read(json.dumps(content)).problems == []
    content["server_list"][0]["device"][0]["device_ip"] = "198.18.0.1,198.18.1.2"
    (problem,) = read(json.dumps(content)).problems
    assert "device_ip 198.18.1.2 is that of device 0 of node_0000 and device 1 of node_0001" in problem

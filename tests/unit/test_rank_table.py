"""Rank tables: written for servers, and read again, in the forms that HCCL knows."""

from __future__ import annotations

import copy
import ipaddress
import json
import random

import pytest
from rackmark.node.rank_table import FORMS, Device, RankTableError, Server, read, written
from shared_data import shared

OLD_FORMS = ("lab", "tensorflow")


def servers(count, devices=8, first=1):
    return [
        Server(
            f"node{index + 1}",
            str(ipaddress.ip_address("10.0.0.100") + index),
            [
                Device(
                    number,
                    str(ipaddress.ip_address("198.18.0.0") + (index * 16 + number + first)),
                    str(index * 8 + number),
                )
                for number in range(devices)
            ],
            f"pod{index // 2}",
        )
        for index in range(count)
    ]


def table(form, count=2, devices=8):
    return json.loads(written(form, servers(count, devices)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("count", "devices"), [(1, 1), (1, 8), (2, 8), (3, 4)])
def test_what_is_written_is_read_again_without_a_complaint(form, count, devices):
    given = servers(count, devices)
    text = written(form, given)
    found = read(text)
    assert (found.form, found.problems, found.remarks, text[-1]) == (form, [], [], "\n")
    assert [[device[:2] for device in server.devices] for server in found.servers] == [
        [device[:2] for device in server.devices] for server in given
    ]
    if form == "1.2":
        assert [server.devices for server in found.servers] == [server.devices for server in given]
        assert [server.super_pod for server in found.servers] == [server.super_pod for server in given]
    if form == "tensorflow":  # a process of it says the name of its node in RANK_ID
        assert [server.name for server in found.servers] == [server.name for server in given]
    assert '"host_ip"' not in text


def test_hundreds_of_tables_survive_being_written_and_read():
    chance = random.Random(16)
    for _ in range(800):
        form = chance.choice(FORMS)
        numbers = chance.choice([[0], [5], [2, 3], [4, 5, 6, 7], list(range(8))])
        count = chance.randint(1, 12)
        free = iter(chance.sample(range(1, 60_000), count * len(numbers)))
        given = [
            Server(
                f"npu{index}.example",
                f"10.1.2.{index + 100}",
                [
                    Device(number, str(ipaddress.ip_address("172.16.0.0") + next(free)), str(index * 8 + number))
                    for number in numbers
                ],
                "3",
            )
            for index in range(count)
        ]
        text = written(form, given)
        found = read(text)
        assert (found.form, found.problems, found.remarks) == (form, [], []), text
        again = [Server(own.name, own.address, told.devices, told.super_pod) for own, told in zip(given, found.servers)]
        assert written(form, again) == text


@pytest.mark.parametrize("form", ["1.0", "1.2"])
@pytest.mark.parametrize("count", [2, 11, 10_001])
def test_the_order_of_nodes_is_that_of_their_names_as_text_too(form, count):
    given = servers(count, 1)
    names = [server["server_id"] for server in json.loads(written(form, given))["server_list"]]
    assert names == sorted(names)
    assert len(set(names)) == count
    found = read(written(form, given))
    assert (found.problems, found.remarks) == ([], [])
    assert [server.devices[0].address for server in found.servers] == [server.devices[0].address for server in given]


@pytest.mark.parametrize("form", OLD_FORMS)
def test_old_forms_are_refused_where_addresses_sort_otherwise_than_nodes(form):
    one, other = servers(2)
    with pytest.raises(RankTableError, match=r"10\.0\.0\.10 \(node2\) comes before 10\.0\.0\.9 .*: use form 1\.0"):
        written(form, [one._replace(address="10.0.0.9"), other._replace(address="10.0.0.10")])
    with pytest.raises(RankTableError, match=r"node1 and node2 have the same address 10\.0\.0\.9"):
        written(form, [one._replace(address="10.0.0.9"), other._replace(address="10.0.0.9")])
    with pytest.raises(RankTableError, match="node2: the address of the node is not known"):
        written(form, [one, other._replace(address="")])


def without_address(given, index, number):
    devices = list(given[index].devices)
    devices[number] = devices[number]._replace(address="")
    return [*given[:index], given[index]._replace(devices=devices), *given[index + 1 :]]


TWO = servers(2)
REFUSED = {
    "an unknown form": ("1.1", TWO, "Form 1.1 is unknown. Use 1.0, 1.2, lab or tensorflow."),
    "the form of Ascend 950": ("2.0", TWO, "Form 2.0 is that of Ascend 950, which needs the topology file"),
    "the form of the serving": ("global", TWO, "server_group_list is written by MindCluster for its serving"),
    "no servers": ("1.0", [], "The table has no servers: name at least one."),
    "a server without devices": ("1.0", [TWO[0]._replace(devices=[])], "node1 has no devices"),
    "an address that is missing": (
        "1.0",
        without_address(TWO, 1, 3),
        "node2: the address of device 3 is not known: give ascend_device_addresses and run site.yml --tags ascend.",
    ),
    "a device less": (
        "1.0",
        [TWO[0], TWO[1]._replace(devices=TWO[1].devices[:4])],
        "node2 has 4 device addresses and node1 has 8: use the same number of devices on every node.",
    ),
    "an address of two devices": (
        "1.2",
        [TWO[0], TWO[1]._replace(devices=[*TWO[1].devices[:7], TWO[1].devices[7]._replace(address="198.18.0.1")])],
        "device_ip 198.18.0.1 is that of device 0 of node1 and device 7 of node2; each device has one of its own.",
    ),
    "three devices for a 910": (
        "lab",
        servers(1, 3),
        "node1: devices 0, 1, 2 are 3, and an Ascend 910 trains with 1, 2",
    ),
    "both halves of a 910": ("tensorflow", servers(1, 6), "node1: devices 0, 1, 2, 3, 4, 5 are in both halves of an"),
    "nine devices of a 910": ("lab", servers(1, 9), "device_id 8 of node1 is above 7"),
    "two nodes of one name": ("1.0", [TWO[0], TWO[1]._replace(name="node1")], "node1 is there 2 times"),
    "no super pod": (
        "1.2",
        [server._replace(super_pod="") for server in TWO],
        "node1 is in no super pod, which form 1.2 is for: use 1.0.",
    ),
    "one of two in a super pod": (
        "1.2",
        [TWO[0], TWO[1]._replace(super_pod="")],
        "node2 is in no super pod, and others are",
    ),
    "no number in the super pod": (
        "1.2",
        [TWO[0], TWO[1]._replace(devices=[device._replace(super_id="") for device in TWO[1].devices])],
        "super_device_id of device 0 of node2 is missing: npu-smi calls it SDID.",
    ),
    "super pods in turns": (
        "1.2",
        [server._replace(super_pod=pod) for server, pod in zip(servers(3), "ABA")],
        "The ranks of super pod A are mixed with those of another",
    ),
    "IPv4 beside IPv6": (
        "1.0",
        [TWO[0], TWO[1]._replace(devices=[*TWO[1].devices[:7], TWO[1].devices[7]._replace(address="fd00::1")])],
        "device_ip of device 0 of node1 is IPv4 and that of device 7 of node2 is IPv6: use one of the two for all.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_hccl_would_refuse_is_not_written(case):
    form, given, sentence = REFUSED[case]
    with pytest.raises(RankTableError) as error:
        written(form, given)
    assert sentence in str(error.value)


def test_all_that_is_wrong_is_said_at_once():
    given = without_address(without_address(servers(3), 0, 1), 2, 7)
    with pytest.raises(RankTableError) as error:
        written("1.0", given)
    assert "node1: the address of device 1" in str(error.value)
    assert "node3: the address of device 7" in str(error.value)


def places(value, path=()):
    """Every value that is no container, by the way to it."""
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))
    else:
        yield path


def edited(content, path, change):
    copied = copy.deepcopy(content)
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    change(inner, path[-1])
    return copied


def remove(inner, key):
    del inner[key]


def as_number(inner, key):
    inner[key] = int(inner[key]) if inner[key].isdecimal() else 7


def one_more(inner, key):
    text = inner[key]
    inner[key] = str(int(text) + 1) if text.isdecimal() else f"{text}1"


# Keys that HCCL does not read, and values that are as right as the others.
UNREAD = {"host_nic_ip"}
OPTIONAL = {"server_count"}  # in 1.2 alone
NAMES = {"server_id", "super_pod_id", "pod_name", "group_name", "board_id", "chip_info", "deploy_mode"}
MAY_DIFFER = {
    "device_id": lambda form: form not in OLD_FORMS,  # a server may have 16 devices
    "device_ip": lambda form: True,
    "super_device_id": lambda form: True,
    "para_plane_nic_name": lambda form: True,
}


def legitimate(form, path, change):
    key = next(key for key in reversed(path) if isinstance(key, str))
    if key in UNREAD:
        return True
    if change is remove:
        return form == "1.2" and key in (*OPTIONAL, "device_ip")
    if change is as_number:
        return False
    return key in NAMES or MAY_DIFFER.get(key, lambda form: False)(form)


@pytest.mark.parametrize("change", [remove, as_number, one_more])
@pytest.mark.parametrize("form", FORMS)
def test_any_single_change_is_refused_unless_the_table_is_right_after_it(form, change):
    content = table(form)
    refused = 0
    for path in places(content):
        found = read(json.dumps(edited(content, path, change)))
        if found.problems:
            refused += 1
            assert all(problem.endswith(".") for problem in found.problems)
        else:
            assert legitimate(form, path, change), path
    assert refused > 20


PUBLISHED = [
    ("apulis/hccl_mindspore_2x8_seed.json", "lab", 2, 16),
    ("apulis/hccl_tensorflow_3x8_doc.json", "tensorflow", 3, 24),
    ("aiperf/hccl.json", "lab", 1, 1),
    ("aiperf/hccl1c.json", "lab", 1, 1),
    ("aiperf/hccl_cd_1pc.json", "lab", 1, 1),
    ("aiperf/rank_table_1pc.json", "lab", 1, 1),
    ("ais-bench/rank_table_16p_64_66.json", "1.0", 2, 16),
]


@pytest.mark.parametrize(("path", "form", "count", "devices"), PUBLISHED)
def test_published_tables_are_right_and_are_written_again_as_they_are(path, form, count, devices):
    text = shared(path).read_text()
    found = read(text)
    assert (found.form, found.problems, len(found.servers)) == (form, [], count)
    assert sum(len(server.devices) for server in found.servers) == devices
    content = json.loads(text)
    if found.remarks and form == "lab":  # its servers are not in the order of their addresses
        with pytest.raises(RankTableError, match=r"192\.168\.3\.2 .*comes before 192\.168\.3\.6"):
            written(form, found.servers)
        return
    again = json.loads(written(form, found.servers))
    if form == "1.0":
        for old, new in zip(content["server_list"], again["server_list"]):
            new["server_id"] = old["server_id"]
    if form == "tensorflow":  # in the order in which HCCL numbers them
        content["group_list"][0]["instance_list"].sort(key=lambda instance: instance["server_id"])
        again["group_list"][0]["group_name"] = content["group_list"][0]["group_name"]
    assert again == content


def test_the_published_table_that_is_wrong_is_refused_with_what_is_wrong():
    assert read(shared("aiperf/hccl2c.json").read_text()).problems == [
        "The group says instance_count 1, and lists 2 instances.",
        "device_ip 127.0.0.1 is that of device 0 of 127.0.0.1 and device 1 of 127.0.0.1;"
        " each device has one of its own.",
    ]


def test_the_remarks_on_published_tables_name_the_order():
    (said,) = read(shared("apulis/hccl_mindspore_2x8_seed.json").read_text()).remarks
    assert "192.168.3.2 comes before 192.168.3.6" in said
    (said,) = read(shared("apulis/hccl_tensorflow_3x8_doc.json").read_text()).remarks
    assert "192.168.100.13 (test2) comes before 192.168.100.33 (test1)" in said

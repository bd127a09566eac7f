"""What a ping matrix between Ascend devices comes to: it passes where all is right that was tested, and enough was."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from rackmark.node.ping_order import targets
from rackmark.ping_matrix.files import files
from rackmark.ping_matrix.matrix import matrix
from rackmark.ping_matrix.partners import Node, partners
from rackmark.ping_matrix.verdict import conclusion, summary, verdict
from unit.ping_fixture import devices, failing, is_device, pinged

TEMPLATES = Path(__file__).parents[2] / "reports/templates"


def judged(made, problems=(), links_down=(), silent=None, minutes=10):
    return verdict(made, problems, links_down, silent or {}, minutes)


def test_all_reached_passes():
    result = judged(failing(devices(2, 2), lambda one, other: False))
    assert (result["passed"], result["pairs"], result["reached"], result["problems"]) == (True, 12, 12, [])
    assert conclusion(result) == "Passed: every pair that was tested is reached, and no address differs."
    assert summary(result) == [
        "4 devices of 2 nodes, 12 pairs",
        "within a node: 4 of 4 tested pairs reached, median 0.050 ms, longest 0.050 ms",
        "between nodes, in a network: 8 of 8 tested pairs reached, median 0.050 ms, longest 0.050 ms",
    ]


@pytest.mark.parametrize(
    "fault",
    [
        {"problems": ["node2: device 1 says 10.0.0.1 and /etc/hccn.conf has 10.0.0.2: run site.yml --tags ascend."]},
        {"links_down": ["node2 device 1"]},
        {"silent": {"node2": "the module was killed."}},
    ],
)
def test_whatever_is_in_doubt_fails_it_though_all_is_reached(fault):
    result = judged(failing(devices(2, 2), lambda one, other: False), **fault)
    assert not result["passed"]
    assert len(result["problems"]) == 1
    assert conclusion(result) == "Failed: 1 problem."


def sampled(part, among=None):
    """Each device had time for the first ones of its order."""
    among = among or devices(20, 4)
    orders = {own: set(targets(among, own, True)[:part]) for own in range(len(among))}
    places = {device: place for place, device in enumerate(among)}
    return pinged(among, lambda one, other: "+" if places[other] in orders[places[one]] else ".")


def test_a_sample_passes_and_says_what_was_not_tested_and_how_long_all_would_take():
    result = judged(sampled(10))
    assert (result["passed"], result["reached"], result["not_tested"]) == (True, 800, 5520)
    assert result["remarks"] == [
        "A sample: 10 minutes were enough for 800 pairs, and 5,520 were not tested. Each device pinged 10 to 10 others."
        " All pairs take about -e minutes=79."
    ]


def test_a_sample_that_leaves_a_kind_of_way_out_fails():
    result = judged(sampled(1))
    assert not result["passed"]
    assert result["problems"] == [
        "80 devices of node[1-20] had no time for a ping of every kind in 10 minutes: give more with -e minutes=."
    ]


def test_nothing_tested_is_not_passed():
    result = judged(pinged(devices(2, 1), lambda one, other: "x"))
    assert not result["passed"]
    assert "2 pairs were not tested: their devices are in different networks" in result["remarks"][0]
    assert conclusion(result) == "Failed: no pair was tested."


def test_pings_without_a_result_are_neither_reached_nor_lost():
    among = devices(2, 2)
    row = {"place": 0, "marks": " ???", "milliseconds": ",,,", "said": {"hccn_tool was busy": "1", "a": "2,3"}}
    result = judged(matrix(among, [row], True), silent={"node2": "gone."})
    assert (result["no_result"], result["lost"], result["reached"]) == (3, 0, 0)
    assert "node1 device 0 (10.0.1.0): no result of 3 pings (a)." in result["problems"]


def test_the_files_hold_every_pair():
    made = failing(devices(2, 2), lambda one, other: is_device(other, "node2", 1))
    content = files(made, {**judged(made), "simulated": ["accelerators"]}, TEMPLATES)
    rows = list(csv.reader(content["matrix.csv"].decode().splitlines()))
    assert rows[1] == ["node1 device 0", "", "0.05", "0.05", "lost"]
    assert json.loads(content["network.json"])["lost"] == 3
    page = content["network.html"].decode()
    assert page.count('class="lost"') == 3
    assert "Simulated: accelerators." in page
    assert 'title="node1 device 0 to node2 device 1: 3 of 3 packets lost"' in page


def test_a_page_of_many_devices_shows_nodes():
    made = failing(devices(20, 8), lambda one, other: is_device(other, "node2", 1))
    page = files(made, {**judged(made), "simulated": []}, TEMPLATES)["network.html"].decode()
    assert page.count("<tr>") == 21
    assert 'title="node1 to node2: 56 of 64 tested pairs reached">8</td>' in page


def answer(*addresses, problems=(), link="UP"):
    return {
        "devices": [
            {"number": number, "address": text, "network": "192.0.2.0/24", "has_gateway": False, "link": link}
            for number, text in enumerate(addresses)
        ],
        "problems": list(problems),
    }


def given(*addresses):
    return [{"address": f"{text}/24"} for text in addresses]


def test_partners_in_order_of_nodes_and_numbers():
    nodes = {
        "node2": Node(answer("192.0.2.3", "192.0.2.4"), given("192.0.2.3", "192.0.2.4")),
        "node10": Node(answer("192.0.2.5", link="DOWN"), []),
        "head": Node(answer(), []),
    }
    found = partners(nodes, named=False)
    assert [(entry["node"], entry["number"]) for entry in found.devices] == [("node2", 0), ("node2", 1), ("node10", 0)]
    assert found.problems == []
    assert found.links_down == ["node10 device 0"]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (
            Node(answer("192.0.2.9"), given("192.0.2.3")),
            "node1: device 0 says 192.0.2.9 and the inventory gives it 192.0.2.3: run site.yml --tags ascend, or"
            " correct ascend_device_addresses.",
        ),
        (
            Node(answer("192.0.2.3"), given("192.0.2.3", "192.0.2.4")),
            "node1 has 1 Ascend device and ascend_device_addresses names 2: give one for each, or look for the missing"
            " device with npu-smi info.",
        ),
        (Node(answer("192.0.2.3", problems=["device 1 is odd"]), []), "node1: device 1 is odd."),
        (
            Node({"unreachable": True, "msg": "Task failed: Failed to connect to the host via ssh.\nmore"}, []),
            "node1 was not asked, and its devices were not tested: Failed to connect to the host via ssh.",
        ),
        (
            Node(answer("192.0.2.50"), []),
            "node1 device 0 and node2 device 0 say the same address, 192.0.2.50: give each one of its own in"
            " ascend_device_addresses and run site.yml --tags ascend.",
        ),
        (
            Node(answer(), []),
            "node1 has no Ascend device: leave it out of nodes=, or look at its driver with npu-smi info.",
        ),
    ],
)
def test_what_is_wrong_with_a_node_is_one_sentence(node, expected):
    others = Node(answer("192.0.2.50", "192.0.2.51"), [])
    assert partners({"node1": node, "node2": others}, named=True).problems == [expected]


def test_one_device_alone_has_nobody_to_ping():
    found = partners({"node1": Node(answer("192.0.2.50"), []), "node2": Node(answer(), [])}, named=False)
    assert found.problems == ["On node[1-2] 1 Ascend device tells its address: a ping takes two devices."]

"""Pings of Ascend devices by hccn_tool, of which the answers are real lines and the tool is a stand-in."""

from __future__ import annotations

import os
import time

import pytest
from rackmark.node import device_network, device_pings
from rackmark.node.device_interfaces import interfaces
from rackmark.node.device_network import Answer
from rackmark.node.device_pings import LOST, REACHED, UNKNOWN, outcome, pings

GOOD = """\
device 3 PING 10.20.11.16
recv seq=0,time=0.137000ms
recv seq=1,time=0.046000ms
recv seq=2,time=0.058000ms
3 packets transmitted, 3 received, 0.00% packet loss
"""
ONE_LOST = """\
device 0 PING 10.10.100.10
recv time out seq=0
recv seq=1,time=0.097000ms
recv seq=2,time=0.066000ms
3 packets transmitted, 2 received, 33.33% packet loss
"""


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(0, GOOD), (REACHED, 0.046, "")),
        (Answer(100, ONE_LOST), (LOST, None, "1 of 3 packets lost")),
        (
            Answer(100, "device 0 PING 10.0.0.9\nrecv time out seq=0\nrecv time out seq=1\n"),
            (LOST, None, "all packets lost"),
        ),
        (Answer(0, "3 packets transmitted, 0 received, 100.00% packet loss"), (LOST, None, "3 of 3 packets lost")),
        (
            Answer(0, "0 packets transmitted, 0 received, 0.00% packet loss"),
            (UNKNOWN, None, "0 packets transmitted, 0 received, 0.00% packet loss"),
        ),
        (Answer(0, "3 packets transmitted, 3 received, 0.00% packet loss"), (REACHED, None, "")),
        (Answer(None, ""), (UNKNOWN, None, "no answer within 20 s")),
        (Answer(1, ""), (UNKNOWN, None, "nothing")),
        (
            Answer(1, "permission denied: pls check this cmd run permission.\n"),
            (UNKNOWN, None, "permission denied: pls check this cmd run permission."),
        ),
    ],
)
def test_what_an_answer_says(answer, expected):
    assert outcome(answer) == expected


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """A stand-in for hccn_tool; $2 is the device, $6 the address."""
    monkeypatch.setattr(device_network, "TOOL_FOLDERS", (str(tmp_path / "none"),))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def write(script):
        path = tmp_path / "hccn_tool"
        path.write_text(f"#!/bin/bash\necho $2 $6 >>{tmp_path}/calls\n{script}\n")
        path.chmod(0o755)
        return tmp_path

    return write


SAYS_GOOD = f"cat <<'END'\n{GOOD}END"
ADDRESSES = {0: "10.0.0.1", 1: "10.0.0.2", 2: "10.0.0.3"}


def test_each_device_pings_its_queue_in_order_and_all_at_once(tool):
    folder = tool(f"sleep 0.3; {SAYS_GOOD}")
    began = time.monotonic()
    found = pings({4: [0, 1, 2], 5: [2, 1]}, ADDRESSES, 60)
    assert {number: list(of) for number, of in found.items()} == {4: [0, 1, 2], 5: [2, 1]}
    assert {ping.mark for of in found.values() for ping in of.values()} == {REACHED}
    assert time.monotonic() - began < 30
    calls = (folder / "calls").read_text().splitlines()
    assert [call for call in calls if call.startswith("4 ")] == ["4 10.0.0.1", "4 10.0.0.2", "4 10.0.0.3"]


def test_a_lost_packet_counts_only_when_it_is_lost_again(tool):
    folder = tool("")
    once = f"if mkdir {folder}/once.$6 2>/dev/null; then cat <<'END'\n{ONE_LOST}END\nexit 100; fi\n{SAYS_GOOD}"
    tool(once)
    assert pings({0: [1]}, ADDRESSES, 60)[0][1].mark == REACHED
    tool(f"cat <<'END'\n{ONE_LOST}END\nexit 100")
    assert pings({0: [2]}, ADDRESSES, 60)[0][2] == (LOST, None, "1 of 3 packets lost")
    assert (folder / "calls").read_text().count("0 10.0.0.3") == 2


def test_a_busy_tool_is_asked_again_and_one_that_stays_busy_gives_no_result(tool):
    folder = tool("")
    busy = "echo 'hccn_tool is busy, please try again.'; exit 1"
    tool(f"if mkdir {folder}/once 2>/dev/null; then {busy}; fi\n{SAYS_GOOD}")
    assert pings({0: [1]}, ADDRESSES, 60)[0][1].mark == REACHED
    tool(busy)
    assert pings({0: [1, 2]}, ADDRESSES, 1)[0] == {1: (UNKNOWN, None, "hccn_tool was busy")}
    tool(f"[ $6 = 10.0.0.2 ] || {{ {busy}; }}\n{SAYS_GOOD}")
    assert list(pings({0: [1, 2]}, ADDRESSES, 2)[0]) == [1], "the other was not tested"


def test_the_time_ends_it_and_what_was_not_done_is_not_in_it(tool):
    tool(f"[ $6 = 10.0.0.1 ] || sleep 60; {SAYS_GOOD}")
    began = time.monotonic()
    found = pings({0: [0, 1, 2]}, ADDRESSES, 3)
    assert time.monotonic() - began < 40, "the tool sleeps for a minute"
    assert list(found[0]) == [0]


def test_a_ping_without_an_answer_is_given_up_and_the_others_go_on(tool, monkeypatch):
    monkeypatch.setattr(device_pings, "SECONDS_A_PING", 1.0)
    tool(f"[ $6 = 10.0.0.3 ] || sleep 60; {SAYS_GOOD}")
    found = pings({0: [0, 2]}, ADDRESSES, 50)[0]
    assert (found[0].mark, found[2].mark) == (UNKNOWN, REACHED)


def test_without_the_tool_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(device_network, "TOOL_FOLDERS", (str(tmp_path),))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="there is no hccn_tool here"):
        pings({0: [1]}, ADDRESSES, 1)


@pytest.fixture
def node(tmp_path):
    """Two devices and a hccn.conf."""
    dev = tmp_path / "dev"
    dev.mkdir()
    for name in ("davinci0", "davinci1", "davinci_manager"):
        (dev / name).touch()
    conf = tmp_path / "hccn.conf"
    conf.write_text("address_0=192.0.2.100\naddress_1=192.0.2.77\ngateway_1=192.0.2.1\n")
    return lambda: interfaces(dev, conf)


ANSWERS = """case $3 in
-ip) printf 'ipaddr:192.0.2.10%s\\nnetmask:255.255.255.0\\n' $2 ;;
-gateway) [ $2 = 0 ] && echo 'default gateway:192.0.2.1, Iface:eth0' || exit 1 ;;
-link) [ $2 = 0 ] && echo 'link status: UP' || echo 'link status: DOWN' ;;
esac"""


def test_what_devices_say_of_their_network(tool, node):
    tool(ANSWERS)
    found = node()
    assert found["devices"] == [
        {"number": 0, "address": "192.0.2.100", "network": "192.0.2.0/24", "has_gateway": True, "link": "UP"},
        {"number": 1, "address": "192.0.2.101", "network": "192.0.2.0/24", "has_gateway": True, "link": "DOWN"},
    ]
    (problem,) = found["problems"]
    assert "device 1 says 192.0.2.101" in problem
    assert "192.0.2.77: run site.yml --tags ascend" in problem


def test_a_device_that_tells_nothing_is_named_with_the_reason(tool, node):
    tool("echo 'permission denied: pls check this cmd run permission.'; exit 1")
    found = node()
    assert [device["address"] for device in found["devices"]] == [None, None]
    assert found["problems"] == [
        f"device {number} tells no address (hccn_tool said: permission denied: pls check this cmd run permission.)"
        for number in (0, 1)
    ]


def test_a_node_without_the_tool(node, tmp_path, monkeypatch):
    monkeypatch.setattr(device_network, "TOOL_FOLDERS", (str(tmp_path),))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = node()
    assert [device["address"] for device in found["devices"]] == [None, None]
    assert found["problems"] == ["there is no hccn_tool here; it comes with the Ascend driver"]

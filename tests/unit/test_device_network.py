"""Addresses of Ascend devices on their node, as hccn_tool says and hccn.conf keeps them. The tool is a stand-in."""

from __future__ import annotations

import os
import time

import pytest
from rackmark.node import device_network

CONF = """\
address_0=192.168.100.101
netmask_0=255.255.255.0
gateway_0=192.168.100.1
send_arp_status_0=1
address_1=192.168.101.101
address_1=10.0.0.1
 address_2=10.0.0.2
# address_3=10.0.0.3
address_10 = 192.168.102.101
"""


class Host:
    """Answers of hccn_tool by device, and a hccn.conf."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.conf = folder, folder / "hccn.conf"
        self.tools = folder / "bin"
        self.tools.mkdir()
        monkeypatch.setenv("PATH", f"{self.tools}:{os.environ['PATH']}")
        monkeypatch.setattr(device_network, "TOOL_FOLDERS", (str(folder / "driver"),))

    def tool(self, script, folder="bin"):
        path = self.folder / folder / "hccn_tool"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n# $2 is the device\n{script}\n")
        path.chmod(0o755)

    def keeps(self, *addresses):
        self.conf.write_text("".join(f"address_{number}={text}\n" for number, text in enumerate(addresses) if text))

    def addresses(self, *numbers):
        return device_network.addresses(numbers, self.conf)


@pytest.fixture
def host(tmp_path, monkeypatch):
    return Host(tmp_path, monkeypatch)


SAYS = 'printf "ipaddr:192.0.2.10$2\\nnetmask:255.255.255.0\\n"'


def test_what_hccn_conf_keeps():
    assert device_network.kept_addresses(CONF) == {0: "192.168.100.101", 1: "192.168.101.101", 10: "192.168.102.101"}
    assert device_network.kept(CONF)[0] == ("192.168.100.101", "255.255.255.0", "192.168.100.1")
    assert device_network.kept_addresses("") == {}


def test_the_devices_are_asked_and_agree_with_the_file(host):
    host.tool(SAYS)
    host.keeps("192.0.2.100", "192.0.2.101")
    assert device_network.asked_addresses([1, 0]) == {1: "192.0.2.101", 0: "192.0.2.100"}
    assert host.addresses(0, 1) == ({"0": "192.0.2.100", "1": "192.0.2.101"}, [])


def test_the_tool_is_found_where_the_driver_puts_it(host):
    host.tool(SAYS, folder="driver")
    assert host.addresses(3).addresses == {"3": "192.0.2.103"}


def test_without_the_tool_the_file_tells(host):
    host.keeps("192.0.2.100", None, "192.0.2.102")
    assert host.addresses(0, 1, 2) == ({"0": "192.0.2.100", "2": "192.0.2.102"}, [])
    host.conf.unlink()
    assert host.addresses(0) == ({}, [])


@pytest.mark.parametrize(
    "refusal", ["echo 'permission denied: pls check this cmd run permission.'; exit 1", "exit 1", "echo nonsense"]
)
def test_where_the_tool_refuses_this_user_the_file_tells(host, refusal):
    host.tool(refusal)
    host.keeps("192.0.2.100")
    assert host.addresses(0) == ({"0": "192.0.2.100"}, [])


def test_a_stale_address_is_named_with_both_values(host):
    host.tool(SAYS)
    host.keeps("192.0.2.100", "192.0.2.77")
    found = host.addresses(0, 1)
    assert found.addresses["1"] == "192.0.2.101"
    assert found.problems == [
        f"device 1 says 192.0.2.101 and {host.conf} has 192.0.2.77: run site.yml --tags ascend",
    ]


def test_a_device_that_lost_its_address_is_named_where_others_have_theirs(host):
    host.tool(f'if [ "$2" = 1 ]; then echo "Get ip failed, because no ip was preset there!"; exit 1; fi; {SAYS}')
    host.keeps("192.0.2.100", "192.0.2.101")
    assert host.addresses(0, 1).problems == [
        f"device 1 says no address and {host.conf} has 192.0.2.101: run site.yml --tags ascend",
    ]


def test_a_busy_device_is_asked_again(host):
    host.tool(
        f'mkdir {host.folder}/seen 2>/dev/null && {{ echo "hccn_tool is busy, please try again."; exit 1; }}; {SAYS}'
    )
    assert host.addresses(0).addresses == {"0": "192.0.2.100"}


def test_a_device_that_stays_busy_or_silent_is_no_problem_and_costs_the_limit_once(host):
    host.tool(f'case $2 in 0) sleep 60;; 1) echo "hccn_tool is busy, please try again."; exit 1;; *) {SAYS};; esac')
    host.keeps("192.0.2.100", "192.0.2.101", "192.0.2.102")
    began = time.monotonic()
    answers = device_network.asked([0, 1, 2], "ip", seconds=3.0)
    assert time.monotonic() - began < 30, "the tool sleeps for a minute"
    assert answers[0].status is None
    assert answers[1].is_busy
    assert device_network.address_in(answers[2]) == "192.0.2.102"
    assert device_network.differences(answers, device_network.kept_addresses(host.conf.read_text())) == []

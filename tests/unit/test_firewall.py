from __future__ import annotations

import pytest
from rackmark.firewall import addresses, members, ports


def test_members_and_trusted_networks_by_version_and_without_overlaps():
    hosts = {"a": {"ansible_host": "192.0.2.11"}, "b": {"ansible_host": "2001:db8::1"}, "192.0.2.10": {}}
    assert members(hosts) == ["192.0.2.10", "192.0.2.11", "2001:db8::1"]
    assert addresses([*members(hosts), "192.0.2.8/30", "2001:db8:1::5/64", "198.51.100.7"]) == {
        "4": ["192.0.2.8/30", "198.51.100.7"],
        "6": ["2001:db8::1", "2001:db8:1::/64"],
    }
    assert addresses([]) == {"4": [], "6": []}


def test_ports_are_merged():
    assert ports([9100, "6817", 6818, "6819-6820", "6819", 2049], [22]) == ["2049", "6817-6820", "9100"]
    assert ports([], [22]) == []


@pytest.mark.parametrize("word", ["slurm", "", "0", "70000", "20-10", "1-70000", "-5"])
def test_what_is_no_port_is_named(word):
    with pytest.raises(ValueError, match=f"'{word}' is no port"):
        ports([word], [22])


@pytest.mark.parametrize(("wanted", "ssh"), [(["20-30"], [22]), ([2222], [22, "2222"])])
def test_sshs_port_is_refused(wanted, ssh):
    with pytest.raises(ValueError, match="by which Ansible logs in"):
        ports(wanted, ssh)


def test_what_is_no_address_is_named():
    with pytest.raises(ValueError, match="ansible_host of a is 'head'"):
        members({"a": {"ansible_host": "head"}})
    with pytest.raises(ValueError, match="firewall_trusted is 'lan'"):
        addresses(["lan"])

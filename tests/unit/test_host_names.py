"""What machines say of themselves, and how much of it the others are told."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError
from rackmark import host_names, slurm_conf

_SPEC = importlib.util.spec_from_file_location(
    "rackmark_filters", Path(__file__).parents[2] / "filter_plugins/rackmark.py"
)
filters = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(filters)


def facts(**facts):
    known = {"processor_count": 1, "processor_threads_per_core": 1, "processor_nproc": 4, "memtotal_mb": 1000}
    return {"ansible_host": "192.0.2.1", "ansible_facts": {**known, **facts}}


HOSTS = {
    "head": facts(hostname="head"),
    "node1": facts(hostname="node1"),
    "gpu-07": facts(hostname="x1000"),
    "gpu-08": facts(hostname="x1000"),
}


@pytest.mark.parametrize(
    "said", ["evil node3 head", "head", "node1", "localhost", "", "-x", "a" * 70, "x\nProlog=/tmp/x", "deb.debian.org"]
)
def test_no_machine_gets_the_name_of_another(said):
    hosts = {**HOSTS, "node2": facts(hostname=said)}
    assert host_names.own_names(hosts)["node2"] == "node2"
    lines = "\n".join(slurm_conf.node_lines({name: host for name, host in hosts.items() if name != "head"}))
    assert "x1000" not in lines  # two claim it
    assert "Prolog" not in lines
    with pytest.raises(AnsibleFilterError, match=r"node2 calls itself .*: run 'hostnamectl set-hostname node2' there"):
        filters.with_own_name(filters.hosts_lines(hosts, hosts), hosts["node2"], "node2", hosts)


def test_a_machines_own_name_is_known_to_itself_alone():
    hosts = {"gpu-07.east": facts(hostname="x1000"), "gpu-08.east": facts(hostname="gpu-08")}
    lines = filters.hosts_lines(hosts, hosts)
    assert lines == ["192.0.2.1 gpu-07.east gpu-07", "192.0.2.1 gpu-08.east gpu-08"]
    own = filters.with_own_name(lines, hosts["gpu-07.east"], "gpu-07.east", hosts)
    assert own == ["192.0.2.1 gpu-07.east gpu-07 x1000", "192.0.2.1 gpu-08.east gpu-08"]
    assert filters.with_own_name(lines, hosts["gpu-08.east"], "gpu-08.east", hosts) == lines


def test_slurm_is_told_of_names_that_one_machine_alone_claims():
    hosts = {"gpu-07": facts(hostname="x1000"), "gpu-08": facts(hostname="gpu-08")}
    assert any("NodeName=gpu-07 NodeHostname=x1000 NodeAddr=gpu-07" in line for line in slurm_conf.node_lines(hosts))


@pytest.mark.parametrize("count", ["2 State=IDLE\nProlog=/tmp/x", "many"])
def test_a_number_of_devices_is_a_number(count):
    hosts = {"node1": facts(accelerators={"vendor": "nvidia", "count": count})}
    with pytest.raises(ValueError, match="is no number"):
        slurm_conf.node_lines(hosts)


@pytest.mark.parametrize(
    ("key_type", "key"),
    [("ssh-ed25519", "AAAA\nhead ssh-rsa BBBB"), ("@cert-authority * ssh-rsa", "A" * 50), ("ssh-ed25519", "")],
)
def test_a_host_key_is_one_key(key_type, key):
    said = {"ssh_host_key_ed25519_public": key, "ssh_host_key_ed25519_public_keytype": key_type}
    assert filters.known_hosts_lines({"node1": facts(**said)}, ["node1"]) == []


def test_a_host_key_is_listed_by_name_and_address():
    said = {"ssh_host_key_ed25519_public": "A" * 68, "ssh_host_key_ed25519_public_keytype": "ssh-ed25519"}
    lines = filters.known_hosts_lines({"node1.east": facts(**said)}, ["node1.east"])
    assert lines == [f"node1.east,node1,192.0.2.1 ssh-ed25519 {'A' * 68}"]


def test_facts_are_asked_for_where_they_are_missing_or_old():
    def of(age):
        return {"ansible_facts": {"cores": 4, "date_time": {"epoch": str(int(time.time() - age))}}}

    known = {"new": of(60), "old": of(90_000), "ancient": {"ansible_facts": {"cores": 4}}, "blank": {}}
    assert filters.lacking_fact(known, known, "cores") == ["blank"]
    assert filters.lacking_fact(known, known, "cores", 86_400) == ["ancient", "blank", "old"]

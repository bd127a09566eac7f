from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rackmark.environments import pip_config
from rackmark.lab import accelerators, carryover, image, network
from rackmark.lab.spec import Accelerators, LabError, LabSpec, default_cpu_share
from rackmark.lab.supervisor import quota_and_period

ROOT = Path(__file__).parents[2]


def spec(**changes):
    wanted = {"name": "lab", "nodes": 4, "suite": "bookworm", "subnet": "10.77.0.0/24", "cpu_share": 0.4}
    return LabSpec(**{**wanted, "state_dir": Path("/state"), "shared_dir": "/userhome", **changes})


def test_names_and_addresses():
    nodes = {node.name: node for node in spec(nodes=64).node_specs()}
    assert len(nodes) == 65
    assert (nodes["head"].address, nodes["head"].cpu_share) == ("10.77.0.2", None)
    assert (nodes["node1"].address, nodes["node1"].cpu_share) == ("10.77.0.11", 0.4)
    assert nodes["node64"].address == "10.77.0.74"
    assert len(f"vb-{nodes['node64'].machine}") <= 15, "Linux cuts longer link names"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes": 0}, "lab_nodes=0 is out of range: use 1 to 64"),
        ({"nodes": 65}, "lab_nodes=65 is out of range"),
        ({"suite": "woody"}, "lab_suite='woody' is unknown: use one of bookworm, trixie"),
        ({"subnet": "10.77.0.5/24"}, "is not an IPv4 network"),
        ({"subnet": "10.77.0.0/26"}, "too small"),
        ({"cpu_share": 0}, "lab_cpu_share=0 is out of range"),
        (
            {"accelerators": {"node1": "nvidia:0"}},
            "has 'nvidia:0' for node1: use nvidia:N or ascend:N, with N from 1 to 16",
        ),
        ({"accelerators": {"node1": "nvidia:17"}}, "has 'nvidia:17' for node1"),
        ({"accelerators": {"node1": 8}}, "has 8 for node1"),
        (
            {"accelerators": {"node5": "ascend:8"}},
            "names node5, and with lab_nodes=4 the nodes are head and node1 to node4",
        ),
        ({"name": "My Lab"}, "lab_name='My Lab' cannot name a bridge"),
    ],
)
def test_a_wrong_option_is_named_with_its_value(changes, words):
    with pytest.raises(LabError, match=words):
        spec(**changes)


@pytest.mark.parametrize(("cores", "nodes", "share"), [(2, 4, 0.4), (2, 32, 0.05), (64, 4, 1.0), (1, 64, 0.01)])
def test_cpu_share_leaves_the_machine_a_fifth(cores, nodes, share):
    assert default_cpu_share(cores, nodes) == share


@pytest.mark.parametrize("share", [1.0, 0.4, 0.05, 0.02, 0.01])
def test_the_kernel_takes_every_share(share):
    quota, period = quota_and_period(share)
    assert quota >= 1000, "the kernel refuses less than a millisecond"
    assert period <= 1_000_000, "the kernel refuses more than a second"
    assert quota / period == pytest.approx(share, rel=0.01)


@pytest.mark.parametrize("vendor", ["nvidia", "ascend"])
@pytest.mark.parametrize("in_use", [set(), {195, 400, 401}])
def test_simulated_devices_have_numbers_of_their_own_that_no_driver_answers_to(vendor, in_use):
    devices = accelerators.device_files(Accelerators(vendor, 8), in_use)
    assert (
        len({(device.major, device.minor) for device in devices}) == len(devices) == (10 if vendor == "nvidia" else 11)
    )
    assert not in_use & {device.major for device in devices}


def test_simulated_devices_have_pci_entries():
    entries = accelerators.pci_entries(Accelerators("ascend", 8))
    assert entries["0000:17:00.0/vendor"] == "0x19e5\n"
    assert len(entries) == 8 * 3


def test_a_machine_without_the_tools_has_no_network_to_take_down(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not network.is_up(spec())
    network.pull_cable("lab-node1")
    network.take_down(spec())


def test_pip_settings_of_the_environment_win_and_lead_to_folders():
    settings = pip_config.parse(
        ":env:.find-links='/opt/new'\n:env:.disable-pip-version-check='1'\n"
        "global.find-links='/opt/old'\nglobal.extra-index-url='file:///opt/a/simple\\nhttps://b/simple'\n"
    )
    assert settings == {"find-links": "/opt/new", "extra-index-url": "file:///opt/a/simple https://b/simple"}
    assert pip_config.local_folders(settings) == [Path("/opt/a"), Path("/opt/new")]
    assert pip_config.wheel_folders(settings) == [Path("/opt/new")]


@pytest.mark.parametrize(
    "sources",
    [
        "deb http://m.example/debian bookworm main\ndeb http://m.example/debian-security bookworm-security main\n",
        "# deb http://old.example/debian x main\nTypes: deb\nURIs: http://m.example/debian\nSuites: bookworm\n\n"
        "Types: deb\nURIs: http://m.example/debian-security\n",
    ],
)
def test_mirrors_from_both_formats_of_apt_sources(sources):
    assert carryover.debian_mirrors(sources) == ("http://m.example/debian", "http://m.example/debian-security")


def test_a_machine_without_debian_mirrors_leaves_the_choice_to_debootstrap():
    assert carryover.debian_mirrors("deb http://m.example/ubuntu noble main\n") == (None, None)


def test_only_settings_that_reach_packages_are_carried():
    kept = carryover.apt_settings('Acquire::http::Proxy "http://p:1";\nAPT::Architecture "amd64";\n')
    assert 'Acquire::http::Proxy "http://p:1";' in kept
    assert "Architecture" not in kept


def inventory(state_dir):
    environment = {**os.environ, "RACKMARK_STATE_DIR": str(state_dir), "RACKMARK_LAB": "x"}
    command = [sys.executable, str(ROOT / "inventory/lab.py")]
    return json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)


def test_inventory_is_empty_without_a_lab(tmp_path):
    shown = inventory(tmp_path)
    assert shown["_meta"]["hostvars"] == {}
    assert shown["lab_head"]["hosts"] == shown["lab_compute"]["hosts"] == []


def test_inventory_is_exactly_the_nodes_that_exist(tmp_path):
    (tmp_path / "labs/x").mkdir(parents=True)
    nodes = {"head": "10.77.0.2", "node1": "10.77.0.11", "node2": "10.77.0.12"}
    record = {"nodes": nodes, "accelerators": {"node1": "nvidia:8"}}
    (tmp_path / "labs/x/lab.json").write_text(json.dumps(record))
    shown = inventory(tmp_path)
    assert shown["lab_compute"]["hosts"] == ["node1", "node2"]
    node = shown["_meta"]["hostvars"]["node2"]
    assert node["ansible_host"] == "10.77.0.12"
    assert "StrictHostKeyChecking" not in node["ansible_ssh_common_args"]
    assert "cluster_simulated" not in node
    assert shown["_meta"]["hostvars"]["node1"]["cluster_simulated"] == ["nodes", "accelerators"]


def test_two_labs_that_start_at_once_build_the_image_once(tmp_path, monkeypatch):
    tools = tmp_path / "tools"
    tools.mkdir()
    # What debootstrap and systemctl would leave, as far as the image is looked at.
    tools.joinpath("debootstrap").write_text(
        f"#!/bin/sh\necho begun >> {tmp_path}/builds\nfor last; do :; done\nsleep 0.3\nmkdir -p $last/etc/ssh\n"
    )
    tools.joinpath("systemctl").write_text("#!/bin/sh\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    place = tmp_path / "images/bookworm"
    labs = [threading.Thread(target=image.build, args=(place, "bookworm", None)) for _ in range(3)]
    for lab in labs:
        lab.start()
    for lab in labs:
        lab.join(30)
    assert (tmp_path / "builds").read_text() == "begun\n"
    assert [path.name for path in place.parent.iterdir()] == ["bookworm"]
    assert (place / "etc/machine-id").read_text() == ""

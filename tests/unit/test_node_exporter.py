"""What node_exporter is told to look at and what not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROLE = Path(__file__).parents[2] / "roles/node_exporter"
VARIABLES = yaml.safe_load((ROLE / "vars/main/main.yml").read_text())


@pytest.mark.parametrize(
    ("mount", "shown"),
    [
        ("/", True),
        ("/home", True),
        ("/userhome", True),
        ("/mnt/data", True),
        ("/var/lib/docker", True),
        ("/processing", True),
        ("/var/lib/docker/overlay2/0a1b/merged", False),
        ("/data/docker/overlay2/0a1b/merged", False),
        ("/var/lib/docker/rootfs/overlayfs/0a1b", False),
        ("/var/lib/containers/storage/overlay-containers/0a1b/userdata/shm", False),
        ("/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs", False),
        ("/run/containerd/io.containerd.runtime.v2.task/moby/0a1b/rootfs", False),
        ("/run/user/1000", False),
        ("/dev/shm", False),
        ("/proc", False),
    ],
)
def test_file_systems_of_containers_and_the_kernel_are_not_shown(mount, shown):
    assert (re.search(VARIABLES["_node_exporter_no_mounts"], mount) is None) is shown


@pytest.mark.parametrize(
    ("device", "shown"),
    [
        ("eth0", True),
        ("enp1s0f0np0", True),
        ("ib0", True),
        ("bond0", True),
        ("br0", True),
        ("host0", True),
        ("lo", False),
        ("veth1a2b", False),
        ("docker0", False),
        ("br-0123456789ab", False),
    ],
)
def test_network_devices_of_containers_are_not_shown(device, shown):
    assert (re.search(VARIABLES["_node_exporter_no_devices"], device) is None) is shown


def test_every_supported_release_has_its_version():
    assert set(VARIABLES["_node_exporter_versions"]) == {"bullseye", "bookworm", "trixie", "focal", "jammy", "noble"}


def test_nothing_in_the_arguments_has_to_be_escaped_for_systemd():
    values = [VARIABLES[name] for name in VARIABLES if name.startswith("_node_exporter_no_")]
    values += [argument for argument in VARIABLES["_node_exporter_own_arguments"] if "{{" not in argument]
    assert [value for value in values if re.search(r"[\s\\\"'%]", value)] == []

"""Whether a host's cgroups can confine jobs, and what that means for a cluster."""

from __future__ import annotations

import pytest
from rackmark.cgroups import facts, unconfined

VERSION_1 = "".join(
    f"cgroup /sys/fs/cgroup/{name} cgroup rw,nosuid,nodev,noexec,relatime,{name} 0 0\n"
    for name in ("cpuset", "memory", "devices", "freezer", "pids")
)
HYBRID = VERSION_1 + "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n"
VERSION_2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0\n"
ALL = ["cpuset", "cpu", "io", "memory", "pids"]


def seen(mounts, read_only=(), controllers=ALL):
    return facts(mounts, lambda place: place not in read_only, lambda _: list(controllers))


@pytest.mark.parametrize(
    ("host", "version", "fault"),
    [
        (seen(VERSION_1), 1, None),
        (seen(HYBRID), 1, None),
        (seen(VERSION_2), 2, None),
        (seen(VERSION_1, ["/sys/fs/cgroup/freezer"]), 1, "cgroups are read-only (/sys/fs/cgroup/freezer)"),
        (seen(VERSION_1, ["/sys/fs/cgroup/pids"]), 1, None),
        (seen(VERSION_2, ["/sys/fs/cgroup"]), 2, "cgroups are read-only (/sys/fs/cgroup)"),
        (seen(VERSION_2, controllers=["cpu", "pids"]), 2, "cgroups have no controller cpuset, memory"),
        (seen(VERSION_1.replace("memory", "other")), 1, "cgroups have no controller memory"),
        (seen("proc /proc proc rw 0 0\n"), 0, "no cgroups are mounted"),
    ],
)
def test_what_a_host_says_of_its_cgroups(host, version, fault):
    assert host == {"version": version, "fault": fault}


def test_the_cgroups_of_this_machine_can_be_read():
    assert facts()["version"] in (0, 1, 2)


def host(said):
    return {"ansible_facts": {"cgroups": said} if said else {}}


def test_one_host_that_cannot_is_enough_and_named_with_its_reason():
    hosts = {"node1": host(seen(VERSION_2)), "node2": host(seen(VERSION_2, ["/sys/fs/cgroup"]))}
    assert unconfined(hosts, True) == "on node2 cgroups are read-only (/sys/fs/cgroup)"
    assert unconfined({"node1": hosts["node1"]}, True) == ""


def test_slurm_before_22_05_is_asked_what_the_host_has_and_not_what_its_release_boots_with():
    hosts = {name: host(seen(VERSION_2)) for name in ("node1", "node2")}
    assert unconfined(hosts, False) == "on node[1-2] Slurm of this release does not know cgroup version 2"
    assert unconfined({"node1": host(seen(VERSION_1))}, False) == ""


def test_a_host_that_an_earlier_version_asked_has_what_its_release_boots_with():
    assert unconfined({"node1": host(None)}, True) == ""
    assert "version 2" in unconfined({"node1": host(None)}, False)

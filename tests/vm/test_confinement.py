"""Slurm on cgroup version 2: jobs and logins have the memory and the devices that were asked for, and no more."""

from __future__ import annotations

import time

import pytest
import yaml
from rackmark.lab.accelerators import device_files
from rackmark.lab.spec import Accelerators
from vm.machine import Bridge, Machine
from vm.site import ROOT, Site

NETWORK = "10.75.0"
# What the roles install comes with the disk, except D-Bus: a host that was made by debootstrap has none.
PACKAGES = [
    *("chrony", "ca-certificates", "libgomp1", "munge"),
    *("slurmctld", "slurmd", "slurm-client", "libpam-slurm-adopt"),
]
DBUS = ["dbus", "dbus-bin", "dbus-daemon", "dbus-session-bus-common", "dbus-system-bus-common"]
DEVICES = Accelerators("nvidia", 2)
VARIABLES = {
    "cluster_accelerator": DEVICES.vendor,
    "cluster_devices_per_node": DEVICES.count,
    "slurm_config": {"SelectTypeParameters": "CR_Core_Memory", "MessageTimeout": 100},
    "slurm_health_time_limit": 50,  # not to drain a machine for being emulated
}
AS_USER = "cd / && runuser -u rackmark -- "
LOGIN = AS_USER + "ssh -o BatchMode=yes node1 "
EATER = "/usr/local/bin/eat"
SHOW = "/usr/local/bin/show-devices"
PROGRAMS = {
    EATER: "#!/usr/bin/python3\neaten = bytearray(300 << 20)\nprint('ate 300 MiB')\n",
    # No driver answers a simulated device that may be opened: "No such device or address".
    SHOW: """#!/usr/bin/python3
import errno, os
for number in range(2):
    path = f"/dev/nvidia{number}"
    try:
        os.open(path, os.O_RDWR)
    except OSError as error:
        assert os.access(path, os.R_OK | os.W_OK) == (error.errno == errno.ENXIO), error
        print(*[number] * (error.errno == errno.ENXIO), end=" ")
""",
}


@pytest.fixture(scope="module")
def node(tmp_path_factory, bare, suite):
    """Controller and compute node in one, with two simulated devices and swap."""
    directory = tmp_path_factory.mktemp("confinement")
    bridge = Bridge("rmkcg", NETWORK)
    node = Machine(directory / "node1", "node1", bridge.wire(2), suite)
    mpi = yaml.safe_load((ROOT / "roles/slurm/vars/main/packages.yml").read_text())["_slurm_mpi_packages"]
    node.build_like(bare, *PACKAGES, *mpi[suite])
    node.inside("apt-get", "install", "-qq", "--reinstall", "--download-only", "-y", *DBUS)
    node.inside("apt-get", "purge", "-qq", "-y", *DBUS)
    for path, text in PROGRAMS.items():
        (node.root / path.lstrip("/")).write_text(text)
        (node.root / path.lstrip("/")).chmod(0o755)
    lines = [f"c /dev/{file.name} 0666 - - - {file.major}:{file.minor}" for file in device_files(DEVICES, set())]
    (node.root / "etc/tmpfiles.d/devices.conf").write_text("\n".join(lines) + "\n")
    try:
        node.boot(memory_mb=1024)
        node.on("fallocate -l 300M /swap && chmod 600 /swap && mkswap -q /swap && swapon /swap")
        groups = {"slurm_controller": ["node1"], "slurm_compute": ["node1"]}
        Site(directory, [node], groups, VARIABLES).play("--tags", "base,munge,slurm_health,slurm,slurm_access")
        yield node
    finally:
        node.stop()
        bridge.remove()


@pytest.fixture
def job(node):
    """Of the user, with one device and 100 MB."""
    number = node.on(AS_USER + "sbatch --parsable --gres=gpu:1 --mem=100 --output=/dev/null --wrap 'sleep 600'")
    wait_until(node, "pgrep --full '^sleep 600'")
    yield number
    node.on(f"scancel {number}")


def wait_until(node: Machine, command: str) -> None:
    deadline = time.monotonic() + 120
    while node.on(command, check=False) == "":
        assert time.monotonic() < deadline, command
        time.sleep(1)


def test_the_machine_is_what_it_should_be(node):
    assert node.on("stat -f -c %T /sys/fs/cgroup") == "cgroup2fs"
    assert node.on("scontrol show config | grep -o 'proctrack/.*'") == "proctrack/cgroup"


def test_a_job_that_takes_more_memory_than_it_asked_for_is_killed(node):
    """Though there is swap for the rest."""
    killed = node.on(f"srun --mem=100 {EATER} 2>&1", check=False)
    assert "Out Of Memory" in killed
    assert "ate" not in killed
    assert node.on(f"srun --mem=400 {EATER}") == "ate 300 MiB"
    wait_until(node, "sinfo --noheader --states=idle --format=%N")  # it was no fault of the node


def test_a_job_can_open_the_devices_it_asked_for_and_no_other(node):
    assert node.on(f"srun {SHOW}").split() == []
    assert node.on(f"srun --gres=gpu:1 {SHOW}").split() in (["0"], ["1"])
    assert node.on(SHOW).split() == ["0", "1"]  # outside of jobs nobody is kept from anything


def test_a_login_is_confined_like_its_job_and_ends_with_it(node, job):
    *devices, group = node.on(LOGIN + f"'{SHOW}; cat /proc/self/cgroup'").split()
    assert devices in (["0"], ["1"])
    assert f"/job_{job}/step_extern/" in group
    assert "ate" not in node.on(LOGIN + EATER, check=False)

    node.on("systemctl restart slurmd")
    assert node.on(LOGIN + SHOW).split() in (["0"], ["1"]), "what slurmd's restart must not loosen"

    node.on(LOGIN + "'setsid sleep 86399 >/dev/null 2>&1 </dev/null &'")
    assert node.on("pgrep --full '^sleep 86399'") != ""
    node.on(f"scancel {job}")
    wait_until(node, "pgrep --full '^sleep 86399' >/dev/null || echo gone")
    refused = node.on(LOGIN + "true 2>&1", check=False)
    assert "you have no active jobs on this node" in refused

"""The virtual cluster on an ordinary machine: systemd as init, cgroup version 2, a kernel with modules."""

from __future__ import annotations

import os
from pathlib import Path

import host_packages
import pytest
from vm.machine import SUITE, Machine, run

ROOT = Path(__file__).parents[2]
STATE_DIR = Path(os.environ.get("RACKMARK_STATE_DIR") or "/var/lib/rackmark")
IN_VENV = "cd /opt/rackmark && . .venv/bin/activate && "
TRACES = (
    "ip -brief link | cut -d' ' -f1 | cut -d@ -f1; grep -v 'run/user' /proc/mounts; nft list ruleset;"
    " systemctl list-units --plain --no-legend 'rackmark*'; find /sys/fs/cgroup -name 'rackmark*';"
    " sysctl net.ipv4.ip_forward fs.inotify.max_user_instances; ls /run/systemd/nspawn /var/lib/rackmark"
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    host_packages.install("debootstrap", "systemd-container", "qemu-system-x86", "e2fsprogs")
    machine = Machine(
        tmp_path_factory.mktemp("machine"),
        packages=["git", "python3-venv", "openssh-client", "systemd-container", "nftables", "debootstrap"],
    )
    machine.build(STATE_DIR / "images" / SUITE)
    # The base image goes along: building it again inside would take many minutes and show nothing new.
    images = machine.root / "var/lib/rackmark/images"
    images.mkdir(parents=True)
    run("cp", "--archive", str(STATE_DIR / "images" / SUITE), str(images))
    machine.boot()
    machine.put(ROOT, "/opt/rackmark")
    machine.on("cd /opt/rackmark && ./setup.sh")
    yield machine
    machine.stop()


def test_the_machine_is_what_it_should_be(machine):
    assert machine.on("cat /proc/1/comm") == "systemd"
    assert machine.on("stat -f -c %T /sys/fs/cgroup") == "cgroup2fs"


def test_nodes_boot_die_come_back_and_go_without_a_trace(machine):
    before = machine.on(TRACES, check=False)
    up = IN_VENV + "ansible-playbook playbooks/lab_up.yml -e lab_nodes=1 -e lab_cpu_share=0.4"
    machine.on(up)
    assert "changed=0" in machine.on(up)
    ssh = "ssh -F /var/lib/rackmark/labs/lab/ssh_config"
    assert machine.on(f"{ssh} node1 cat /proc/1/comm") == "systemd"
    quota = machine.on("cat /sys/fs/cgroup/system.slice/rackmark-lab-node1.service/cpu.max").split()
    assert int(quota[0]) / int(quota[1]) == pytest.approx(0.4)
    assert machine.on(f"{ssh} node1 ping -c 1 -w 10 10.77.0.2 >/dev/null && echo reached") == "reached"

    machine.on("systemctl kill --signal=KILL rackmark-lab-node1")
    assert "changed=1" in machine.on(up)
    assert machine.on(f"{ssh} node1 hostname") == "node1"

    machine.on(IN_VENV + "ansible-playbook playbooks/lab_down.yml")
    assert machine.on(TRACES, check=False) == before

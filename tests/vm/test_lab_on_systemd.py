"""The virtual cluster on an ordinary machine: systemd as init, cgroup version 2, a kernel with modules."""

from __future__ import annotations

from pathlib import Path

import pytest
from vm.machine import Machine, run

ROOT = Path(__file__).parents[2]
SHARE = 0.9  # of an emulated processor
IN_VENV = "cd /opt/rackmark && . .venv/bin/activate && "
TRACES = (
    "ip -brief link | cut -d' ' -f1 | cut -d@ -f1; grep -v 'run/user' /proc/mounts; nft list ruleset;"
    " systemctl list-units --plain --no-legend 'rackmark*'; find /sys/fs/cgroup -name 'rackmark*';"
    " sysctl net.ipv4.ip_forward fs.inotify.max_user_instances; ls /run/systemd/nspawn /var/lib/rackmark"
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory, bare, base_image):
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.build_like(bare, "git", "systemd-container", "nftables", "debootstrap")
    # The base image goes along: building it again inside would take many minutes and show nothing new.
    images = machine.root / "var/lib/rackmark/images"
    images.mkdir(parents=True)
    run("cp", "--archive", str(base_image), str(images))
    machine.put(ROOT, "/opt/rackmark")
    machine.inside("/opt/rackmark/setup.sh")
    machine.boot()
    yield machine
    machine.stop()


def test_the_machine_is_what_it_should_be(machine):
    assert machine.on("cat /proc/1/comm") == "systemd"
    assert machine.on("stat -f -c %T /sys/fs/cgroup") == "cgroup2fs"


def test_nodes_boot_die_come_back_and_go_without_a_trace(machine):
    before = machine.on(TRACES, check=False)
    up = IN_VENV + f"ansible-playbook playbooks/lab_up.yml -e lab_nodes=1 -e lab_cpu_share={SHARE}"
    machine.on(up)
    ssh = "ssh -F /var/lib/rackmark/labs/lab/ssh_config"
    assert machine.on(f"{ssh} node1 cat /proc/1/comm") == "systemd"
    quota = machine.on("cat /sys/fs/cgroup/system.slice/rackmark-lab-node1.service/cpu.max").split()
    assert int(quota[0]) / int(quota[1]) == pytest.approx(SHARE)
    assert machine.on(f"{ssh} node1 ping -c 1 -w 10 10.77.0.2 >/dev/null && echo reached") == "reached"

    machine.on(f"{ssh} head touch /run/booted-before")
    machine.on("systemctl kill --signal=KILL rackmark-lab-node1")
    assert "changed=1" in machine.on(up)
    assert machine.on(f"{ssh} node1 hostname") == "node1"
    machine.on(f"{ssh} head test -e /run/booted-before")  # what is well is left alone

    machine.on(IN_VENV + "ansible-playbook playbooks/lab_down.yml")
    assert machine.on(TRACES, check=False) == before

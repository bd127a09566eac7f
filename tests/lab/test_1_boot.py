"""lab_up: what it makes, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from lab.cluster import NAME, ROOT, SUBNET

PREFIX = SUBNET.rpartition(".")[0]


def test_a_second_run_changes_nothing(cluster):
    again = cluster.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    assert again.changed == []


def inventory():
    environment = {**os.environ, "RACKMARK_LAB": NAME}
    return subprocess.run([str(ROOT / "inventory/lab.py")], env=environment, capture_output=True, check=True).stdout


def test_the_shipped_inventory_shows_the_nodes_that_exist(cluster):
    groups = json.loads(inventory())
    assert groups["lab_compute"]["hosts"] == ["node1", "node2", "node3", "node4"]


def test_nodes_have_their_own_system_address_and_key(cluster):
    machine_ids = {cluster.on(node, "cat /etc/machine-id") for node in ("head", "node1", "node2")}
    assert len(machine_ids) == 3
    assert cluster.on("node2", "hostname") == "node2"
    assert f"{PREFIX}.12" in cluster.on("node2", "ip -brief address show host0")
    assert cluster.on("node2", "cat /proc/1/comm") == "systemd"
    known = (cluster.directory / "known_hosts").read_text()
    assert cluster.on("node2", "cut -d' ' -f2 /etc/ssh/ssh_host_ed25519_key.pub") in known


def test_a_host_key_that_changed_is_refused(cluster):
    known = cluster.directory / "known_hosts"
    kept = known.read_text()
    stranger = "AAAAC3NzaC1lZDI1NTE5AAAAIHqTKSf1AYn8ZFo6Q7eg2YLbxRmCqqMtsUUxvUPeFxUv"
    known.write_text(kept.replace(kept.split()[2], stranger))
    try:
        done = subprocess.run(
            ["ssh", "-F", str(cluster.directory / "ssh_config"), "head", "true"], capture_output=True, check=False
        )
        assert done.returncode != 0
        assert b"HOST IDENTIFICATION HAS CHANGED" in done.stderr
    finally:
        known.write_text(kept)


def test_a_compute_node_uses_no_more_than_its_share_of_cpu(cluster):
    """How much of it there is on a machine at rest is asked by the soak tier."""
    share = json.loads((cluster.directory / "lab.json").read_text())["cpu_share"]
    burn = "import time; e = time.time() + 3\nwhile time.time() < e: pass\nprint(time.process_time())"
    used = float(cluster.on("node1", f"python3 -c '{burn}'")) / 3
    assert 0 < used < share * 1.25


def test_slurm_and_containers_can_make_control_groups(cluster):
    groups = (
        "$(test -d /sys/fs/cgroup/memory && echo /sys/fs/cgroup/memory /sys/fs/cgroup/devices || echo /sys/fs/cgroup)"
    )
    cluster.on("node1", f"for group in {groups}; do mkdir $group/try && rmdir $group/try || exit 1; done")
    assert cluster.on("node1", "stat --file-system --format=%T /var/lib/docker") != "overlayfs"


def test_simulated_accelerators_of_two_nodes(cluster):
    devices = {"node1": "nvidia:8", "node2": "ascend:2"}
    for node in ("node1", "node3"):
        cluster.on(node, "touch /run/booted-before")
    cluster.play("playbooks/lab_up.yml", lab_nodes=4, lab_accelerators=devices).succeeded()
    assert cluster.on("node1", "ls /run") != cluster.on("node3", "ls /run"), "only nodes that change are restarted"
    cluster.on("node3", "test -e /run/booted-before && ! ls /dev/nvidia*")

    names = cluster.on("node1", "cd /dev && ls -d nvidia*").split()
    assert set(names) == {*(f"nvidia{i}" for i in range(8)), "nvidiactl", "nvidia-uvm"}
    assert len(set(cluster.on("node1", "stat --format='%t:%T' /dev/nvidia*").split())) == len(names)
    assert "No such device or address" in cluster.on("node1", "cat /dev/nvidia0 2>&1 || true"), "no driver answers"
    assert cluster.on("node1", "cat /sys/bus/pci/devices/*/vendor").split() == ["0x10de"] * 8
    assert cluster.on("node1", "cat /sys/bus/pci/devices/*/class").split() == ["0x030200"] * 8

    assert set(cluster.on("node2", "cd /dev && ls -d davinci* devmm_svm hisi_hdc").split()) == {
        *("davinci0", "davinci1", "davinci_manager", "devmm_svm", "hisi_hdc")
    }
    assert cluster.on("node2", "cat /sys/bus/pci/devices/*/vendor").split() == ["0x19e5"] * 2

    hosts = json.loads(inventory())["_meta"]["hostvars"]
    assert hosts["node1"]["cluster_simulated"] == ["nodes", "accelerators"]
    assert "cluster_simulated" not in hosts["node3"]
    cluster.kill_power("node1")
    cluster.play("playbooks/lab_up.yml", lab_nodes=4, lab_accelerators=devices).succeeded()
    cluster.on("node1", "test -c /dev/nvidia7")
    assert cluster.play("playbooks/lab_up.yml", lab_nodes=4, lab_accelerators=devices).succeeded().changed == []
    cluster.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    cluster.on("node1", "! ls /dev/nvidia*")
    assert "0x10de" not in cluster.on("node1", "cat /sys/bus/pci/devices/*/vendor")


def test_packages_can_be_reached_from_a_node(cluster):
    cluster.on("node1", "apt-get update")


def test_a_firewall_that_drops_forwarded_packets_does_not_cut_the_nodes_off(cluster):
    def nft(*command):
        subprocess.run(["nft", *command], check=True)

    others = f'iifname != "rmk-{NAME}" oifname != "rmk-{NAME}" accept'  # clusters of other tests
    nft("add", "table", "inet", "dropping")
    nft("add chain inet dropping forward { type filter hook forward priority 0; policy drop; }")
    nft(f"add rule inet dropping forward {others}")
    try:
        assert cluster.play("playbooks/lab_up.yml", lab_nodes=4).succeeded().changed != []
        cluster.on("node1", f"apt-get update && ping -c 1 -w 5 {PREFIX}.12")
        assert cluster.play("playbooks/lab_up.yml", lab_nodes=4).succeeded().changed == []
    finally:
        nft("delete", "table", "inet", "dropping")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"lab_nodes": 0}, "lab_nodes is 0 (-e): use 1 to 64"),
        ({"lab_nodes": 65}, "lab_nodes is 65 (-e): use 1 to 64"),
        ({"lab_suite": "woody"}, "lab_suite is 'woody' (-e): use one of bookworm, trixie"),
        ({"lab_suite": "trixie", "lab_state_dir": "/proc/nowhere"}, "/proc/nowhere"),
        ({"lab_subnet": "10.79.0.0/24"}, f"exists with subnet {SUBNET}, not 10.79.0.0/24: take it down first"),
        ({"lab_accelerators": {"node1": "amd:8"}}, "lab_accelerators has 'amd:8' for node1: use nvidia:N or ascend:N"),
        (
            {"lab_accelerators": {"node9": "nvidia:8"}},
            "lab_accelerators names node9, and with lab_nodes=4 the nodes are",
        ),
        ({"lab_cpu_share": "fast"}, "lab_cpu_share is 'fast' (-e): use auto, or 0.01 to 1"),
        ({"lab_name": "other"}, f"lab_subnet={SUBNET} is taken: this machine routes {SUBNET} to rmk-{NAME}"),
    ],
    ids=lambda value: "wish" if isinstance(value, dict) else value.replace(SUBNET, "SUBNET").replace(NAME, "NAME"),
)
def test_a_wrong_wish_is_one_clear_sentence_and_touches_nothing(cluster, variables, words):
    before = (cluster.directory / "lab.json").read_text()
    cluster.play("playbooks/lab_up.yml", **{"lab_nodes": 4, **variables}).failed_with(words)
    assert (cluster.directory / "lab.json").read_text() == before
    assert not (cluster.directory.parent / "other").exists()


def test_too_little_disk_is_said_with_the_numbers(cluster, tmp_path):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100m", "rackmark-test-small", str(tmp_path)], check=True)
    try:
        small = cluster.play(
            "playbooks/lab_up.yml", lab_name="other", lab_subnet="10.79.0.0/24", lab_state_dir=str(tmp_path)
        )
        small.failed_with("MB free and 1500 MB are needed", "RACKMARK_STATE_DIR=DIR")
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_check_mode_shows_what_would_be_done(cluster):
    would = cluster.play("playbooks/lab_up.yml", lab_nodes=6, cmdline="--check").succeeded()
    assert any("Boot the nodes" in task for task in would.changed)
    assert not (cluster.directory / "nodes/node5").exists()


def test_a_node_that_does_not_come_up_shows_its_console(cluster):
    """A node whose init is broken ends at once; the rest of the cluster stays."""
    cluster.kill_power("node4")
    init = cluster.directory / "nodes/node4/upper/usr/lib/systemd/systemd"
    broken = cluster.directory / "nodes/node4/root/usr/lib/systemd/systemd"
    broken.write_text("#!/bin/sh\necho this init is broken >&2\nexit 1\n")
    cluster.play("playbooks/lab_up.yml", lab_nodes=4).failed_with("node4 does not answer SSH", "this init is broken")
    subprocess.run(["umount", str(cluster.directory / "nodes/node4/root")], check=True)
    init.unlink()
    cluster.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    assert cluster.on("node4", "hostname") == "node4"

"""Nodes that look after themselves: drained with the reason, back when it is gone, clean after a job."""

from __future__ import annotations

import time

import pytest

NODE = "node2"
CONFIG = "/etc/slurm/rackmark-health.conf"
CHECK = "rackmark-health || true"  # as Slurm calls it every few minutes


def reason(cluster):
    return cluster.on("head", f"sinfo --noheader --nodes={NODE} --format=%E")


def state(cluster):
    return cluster.node_states()[NODE]


def wait_until(true, seconds=30):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.5)


def submit(cluster, script, *options):
    """Number of a job of the benchmark user."""
    words = " ".join(("--parsable", "--output=/dev/null", "--chdir=/", *options))
    return cluster.on("head", f"sudo -u rackmark sbatch {words} --wrap '{script}'")


def job(cluster, number, field):
    return cluster.on("head", f"squeue --noheader --states=all --jobs={number} --format={field}")


def running(cluster, words):
    return cluster.on(NODE, f"pgrep --full '^{words}$' || true").split()


@pytest.fixture
def node(provisioned):
    """A node to break; afterwards it is as it was and takes jobs."""
    provisioned.on(NODE, f"cp --preserve {CONFIG} /root/health.conf")
    yield provisioned
    provisioned.on("head", "scancel --user=rackmark")
    provisioned.on(NODE, f"mv /root/health.conf {CONFIG} && {CHECK}")
    wait_until(lambda: state(provisioned) == "idle")


@pytest.fixture
def small_disk(node):
    """A file system of 20 MB that the node watches too."""
    node.on(NODE, "mkdir -p /mnt/small && mount -t tmpfs -o size=20m small /mnt/small")
    node.on(NODE, f"sed -i 's|^folders = /$|folders = /mnt/small\\n    /|' {CONFIG}")
    yield "/mnt/small"
    node.on(NODE, "umount /mnt/small")


def test_slurm_runs_the_check_in_every_state_and_around_jobs(provisioned):
    shown = provisioned.on("head", "scontrol show config")
    # Slurm 24.11 numbers prologs and epilogs.
    settings = dict(
        map(str.strip, line.replace("[0]", "").split("=", 1)) for line in shown.splitlines() if " = " in line
    )
    assert settings["HealthCheckProgram"] == "/usr/local/sbin/rackmark-health"
    assert "ANY" in settings["HealthCheckNodeState"]
    assert (settings["Prolog"], settings["Epilog"]) == ("/etc/slurm/prolog", "/etc/slurm/epilog")
    assert (
        provisioned.on(NODE, "rackmark-health --show | grep -v -e ' ok$' -e 'not known: there is no chronyc'  || true")
        == ""
    )


def test_the_check_costs_next_to_nothing(provisioned, record_property):
    began = time.monotonic()
    provisioned.on(NODE, "for i in 1 2 3 4 5 6 7 8 9 10; do rackmark-health --prolog; done")
    record_property("seconds_per_check", round((time.monotonic() - began) / 10, 3))


def test_a_full_disk_drains_the_node_until_there_is_room(node, small_disk):
    node.on(NODE, f"fallocate -l 20m {small_disk}/full")
    node.on(NODE, CHECK)
    assert state(node) == "drained"
    assert reason(node) == f"rackmark: disk: {small_disk} has 0.0 % of its space free and needs 5 %"
    node.on(NODE, f"rm {small_disk}/full")
    node.on(NODE, CHECK)
    wait_until(lambda: state(node) == "idle")


def test_a_job_is_not_started_on_a_faulty_node_but_on_another(node, small_disk):
    node.on(NODE, f"fallocate -l 20m {small_disk}/full")
    pinned = submit(node, "sleep 600", f"--nodelist={NODE}")
    wait_until(lambda: state(node) == "drained")
    assert reason(node).startswith("rackmark: disk: ")
    wait_until(lambda: job(node, pinned, "%T") == "PENDING")
    assert submit(node, "true", "--wait", "--exclusive")
    assert NODE not in job(node, pinned, "%N")


def test_missing_devices_and_a_full_disk_are_both_in_the_reason(node, small_disk):
    node.on(NODE, f"printf '\\n[devices]\\nvendor = nvidia\\ncount = 2\\n' >> {CONFIG}")
    node.on(NODE, f"mknod /dev/nvidia0 c 195 0; fallocate -l 20m {small_disk}/full")
    try:
        node.on(NODE, CHECK)
        assert f"disk: {small_disk} has 0.0 % of its space free" in reason(node)
        assert "devices: 1 of 2 nvidia device files are there, without /dev/nvidia1" in reason(node)
        node.on(NODE, f"mknod /dev/nvidia1 c 195 1; rm {small_disk}/full; {CHECK}")
        wait_until(lambda: state(node) == "idle")
    finally:
        node.on(NODE, "rm -f /dev/nvidia0 /dev/nvidia1")


def test_what_a_person_has_drained_stays_drained_with_their_words(node, small_disk):
    node.on("head", f"scontrol update nodename={NODE} state=drain reason='fan is loud'")
    try:
        node.on(NODE, f"fallocate -l 20m {small_disk}/full; {CHECK}; rm {small_disk}/full; {CHECK}")
        assert (state(node), reason(node)) == ("drained", "fan is loud")
    finally:
        node.on("head", f"scontrol update nodename={NODE} state=resume")


def test_a_broken_munge_key_is_said_on_the_node_and_repaired_by_the_role(node):
    """Such a node cannot tell Slurm anything: the controller sees that it does not answer."""
    node.on(NODE, "head -c 1024 /dev/urandom > /etc/munge/munge.key && systemctl restart munge")
    said = node.on(NODE, CHECK)
    assert f"Slurm's controller takes no word from {NODE}" in said
    assert "munge key" in said
    node.play("site.yml", cmdline=f"--tags munge --limit {NODE},head").succeeded()
    assert node.on(NODE, "rackmark-health") == ""


def test_a_shared_directory_that_is_away_drains_the_node(node):
    node.on(NODE, f"sed -i 's|^folder = .*|folder = /gone/away|' {CONFIG}; {CHECK}")
    assert reason(node) == "rackmark: shared: /gone/away cannot be written to by rackmark (No such file or directory)"


def test_only_what_the_ended_job_left_behind_is_ended(node):
    on_node = (f"--nodelist={NODE}", "--ntasks=1", "--mem=64")
    sibling = submit(node, "setsid sleep 1003 & sleep 600", *on_node)
    ended = submit(node, "mkdir /tmp/rackmark-job-$SLURM_JOB_ID; setsid sleep 1001 & sleep 600", *on_node)
    wait_until(lambda: running(node, "sleep 1001") and running(node, "sleep 1003"))
    # One that got out of Slurm's sight, as one started over SSH or by a service would have.
    node.on(NODE, f"setsid sudo -u rackmark env SLURM_JOB_ID={ended} sleep 1002 >/dev/null 2>&1 &")
    node.on(NODE, "setsid sudo -u rackmark sleep 1004 >/dev/null 2>&1 &")
    wait_until(lambda: running(node, "sleep 1002") and running(node, "sleep 1004"))
    try:
        node.on("head", f"scancel {ended}")
        wait_until(lambda: job(node, ended, "%T") in ("", "CANCELLED"))
        assert running(node, "sleep 100[12]") == []
        node.on(NODE, f"test ! -e /tmp/rackmark-job-{ended}")
        assert job(node, sibling, "%T") == "RUNNING"
        assert running(node, "sleep 1003"), "of a sibling job of the same user"
        assert running(node, "sleep 1004"), "of no job"
        assert node.on(NODE, "journalctl --identifier=rackmark-epilog --output=cat") != ""
    finally:
        node.on(NODE, f"kill {' '.join(running(node, 'sleep 1004'))}")


def test_operators_add_their_own_in_the_order_of_names(node):
    for name in ("20-first", "60-second"):
        node.on(NODE, f"printf '#!/bin/sh\\necho {name} >> /run/prologs\\n' > /etc/slurm/prolog.d/{name}")
        node.on(NODE, f"chmod 755 /etc/slurm/prolog.d/{name}")
    try:
        submit(node, "true", "--wait", f"--nodelist={NODE}")
        assert node.on(NODE, "cat /run/prologs").split() == ["20-first", "60-second"]
    finally:
        node.on(NODE, "rm -f /etc/slurm/prolog.d/20-first /etc/slurm/prolog.d/60-second /run/prologs")

"""Hosts as they really are: no name for themselves, read-only cgroups, apt at work, broken services."""

from __future__ import annotations

import pytest

NODES = ("head", "node1", "node2")
SLURM = "--tags munge,slurm_database,slurm_health,slurm"
# As in a container of somebody else's making: systemd has its own hierarchy and may not touch the controllers.
READ_ONLY = "awk '$3==\"cgroup\" && $2!~/systemd/ {print $2}' /proc/mounts | xargs -r -n1 mount -o remount,bind,ro"
WRITABLE = READ_ONLY.replace("bind,ro", "bind,rw")
# A package that dpkg began with, and something that holds dpkg's lock as long as a file is there.
HALF_DONE = """\
mkdir -p /tmp/half/DEBIAN && cd /tmp/half
printf 'Package: half-done\\nVersion: 1\\nArchitecture: all\\nMaintainer: x\\nDescription: x\\n' >DEBIAN/control
dpkg-deb --build . /tmp/half.deb && dpkg --unpack /tmp/half.deb
touch /tmp/upgrading
systemd-run --quiet --unit=upgrade python3 -c 'import fcntl, pathlib, time
files = [open(f"/var/lib/dpkg/{name}", "w") for name in ("lock-frontend", "lock")]
[fcntl.lockf(file, fcntl.LOCK_EX) for file in files]
while pathlib.Path("/tmp/upgrading").exists(): time.sleep(0.2)'
"""
BAD_SETTINGS = "/etc/mysql/mariadb.conf.d/99-wrong.cnf"


@pytest.fixture(scope="module")
def bare(no_cluster):
    no_cluster.boot_for("two nodes", lab_nodes=2)
    no_cluster.play("site.yml", cmdline="--tags base").succeeded()
    hosts = {node: no_cluster.on(node, "cat /etc/hosts") for node in NODES}
    for node in NODES:
        no_cluster.on(node, "sed -i '/localhost/d' /etc/hosts")
        assert no_cluster.on(node, "getent hosts localhost", check=False) == ""
    no_cluster.on("node2", READ_ONLY)
    yield no_cluster
    no_cluster.on("node2", WRITABLE)
    for node in NODES:
        no_cluster.on(node, f"cat >/etc/hosts <<'END'\n{hosts[node]}\nEND")


def need_read_only_cgroups(bare):
    if "cgroup ro," not in bare.on("node2", "cat /proc/mounts"):
        pytest.skip("only cgroups of version 1 can be made read-only below a systemd that goes on")


def test_a_slurmd_that_dies_is_quoted_and_not_waited_for(bare):
    """And slurmdbd, MariaDB and slurmctld of hosts that do not know `localhost` come up before that."""
    need_read_only_cgroups(bare)
    play = bare.play("site.yml", cmdline=SLURM, slurm_cgroups="true")
    play.failed_with("slurmd does not stay up", "Read-only file system", "/var/log/slurm/slurmd.log")
    assert play.stats["node2"]["failures"] == 1
    assert "node2: slurmd is" in play.output, "who asks Slurm about all nodes hears it, too"
    assert bare.node_states()["node1"] == "idle"
    assert bare.on("head", "sacctmgr --noheader --parsable2 show cluster format=cluster") == "rackmark"


def test_jobs_run_unconfined_where_cgroups_are_read_only_and_that_is_said(bare):
    need_read_only_cgroups(bare)
    play = bare.play("site.yml", cmdline=SLURM).succeeded()
    assert "Jobs are not confined" in play.output
    assert "on node2 cgroups are read-only" in play.output.replace("\n", " ")
    assert "ProctrackType=proctrack/linuxproc" in bare.on("head", "cat /etc/slurm/slurm.conf")
    assert "CgroupPlugin=cgroup/v1" in bare.on("head", "cat /etc/slurm/cgroup.conf")
    said = bare.on("head", "cd / && runuser -u rackmark -- srun --nodes=2 hostname")
    assert sorted(said.split()) == ["node1", "node2"]


def test_who_is_at_work_with_packages_is_waited_for(bare):
    bare.on("node1", HALF_DONE)
    log = bare.artifacts / "playing.log"
    try:
        with bare.playing("site.yml", "--tags", "munge") as play:
            bare.wait_until(lambda: "node1: waiting for process" in log.read_text(), "the wait is said", 120)
            assert play.poll() is None
            bare.on("node1", "rm /tmp/upgrading")
            assert play.wait(timeout=120) == 0
        assert bare.on("node1", "dpkg-query --show --showformat='${Status}' half-done") == "install ok installed"
    finally:
        bare.on("node1", "rm -f /tmp/upgrading; dpkg --purge half-done")


def test_a_mariadb_that_does_not_start_is_quoted(bare):
    bare.on("head", f"printf '[mariadbd]\\nno_such_setting=1\\n' >{BAD_SETTINGS}; systemctl stop mariadb")
    try:
        play = bare.play("site.yml", cmdline="--tags slurm_database")
        play.failed_with("systemctl start mariadb", "unknown variable 'no_such_setting=1'")
    finally:
        bare.on("head", f"rm {BAD_SETTINGS}; systemctl start mariadb")

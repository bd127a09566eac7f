"""Machines of somebody else's making: names that the machines do not know, no DNS, storage that is there already.

Two controllers and a login node, with an inventory written by hand.
"""

from __future__ import annotations

import json

import pytest
import yaml
from lab.cluster import SUBNET

SHARED = "/scratch"
# What the inventory calls each machine, and what the machine calls itself.
MACHINES = {
    "ctl-a.east.example": "head",
    "ctl-b.east.example": "node1",
    "gpu-07": "node2",
    "gpu-08": "node3",
    "gpu-11": "node4",
    "door": "node5",
}


class Foreign:
    def __init__(self, cluster, inventory):
        self.cluster = cluster
        self.inventory = inventory

    def play(self, playbook="site.yml", cmdline="", **variables):
        return self.cluster.play(playbook, cmdline=f"-i {self.inventory} {cmdline}", **variables)

    def on(self, name, command, check=True):
        return self.cluster.on(MACHINES[name], command, check)


def address(machine):
    last = 2 if machine == "head" else 10 + int(machine.removeprefix("node"))
    return SUBNET.rpartition(".")[0] + f".{last}"


@pytest.fixture(scope="module")
def foreign(no_cluster, tmp_path_factory):
    no_cluster.boot_for("foreign", lab_nodes=5, lab_suite="trixie", lab_shared_dir=SHARED)
    known = no_cluster.directory / "known_hosts"
    hosts = {name: {"ansible_host": address(machine)} for name, machine in MACHINES.items()}
    controllers, nodes = list(MACHINES)[:2], list(MACHINES)[2:5]
    inventory = {
        "all": {
            "vars": {
                "ansible_user": "root",
                "ansible_ssh_private_key_file": str(no_cluster.directory / "key"),
                "ansible_ssh_common_args": f"-o UserKnownHostsFile={known} -o GlobalKnownHostsFile=/dev/null",
                "cluster_name": "east",
                "cluster_shared_dir": SHARED,
                "cluster_user": "trainer",
                "cluster_user_uid": 7001,
                "slurm_state_dir": f"{SHARED}/slurmctld",
                "slurm_config": {"SlurmctldTimeout": 10},
                "slurm_partitions": [{"name": "train", "nodes": "gpu_nodes", "default": True}],
            },
            "hosts": hosts,
            "children": {
                "slurm_controller": {"hosts": {key: {} for key in controllers}},
                "slurm_login": {"hosts": {"door": {}}},
                "slurm_compute": {"children": {"gpu_nodes": {}}},
                "gpu_nodes": {"hosts": {key: {} for key in nodes}},
            },
        }
    }
    path = tmp_path_factory.mktemp("inventory") / "hosts.yml"
    path.write_text(yaml.safe_dump(inventory, sort_keys=False))
    made = Foreign(no_cluster, path)
    made.play().succeeded()
    return made


def test_nodes_are_known_by_the_inventorys_names(foreign):
    shown = foreign.on("ctl-a.east.example", "sinfo --noheader --format='%P %T %N'")
    assert shown == "train* idle gpu-[07-08,11]"
    said = foreign.on("ctl-a.east.example", "srun --nodes=3 --label hostname").splitlines()
    assert sorted(line.split()[1] for line in said) == ["node2", "node3", "node4"]
    lines = [
        line
        for line in foreign.on("ctl-a.east.example", "cat /etc/slurm/slurm.conf").splitlines()
        if "NodeName" in line
    ]
    assert len(lines) == 1


def test_names_are_found_without_dns_and_the_user_may_log_in_between_the_hosts(foreign):
    command = "runuser -u trainer -- ssh -o BatchMode=yes ctl-b hostname"
    assert foreign.on("gpu-07", command) == "node1"
    assert foreign.on("gpu-07", "runuser -u trainer -- ssh -o BatchMode=yes root@gpu-08 true", check=False) == ""
    refused = foreign.on("gpu-07", "runuser -u trainer -- ssh -o BatchMode=yes root@gpu-08 true 2>&1; true")
    assert "Permission denied" in refused


def test_jobs_are_started_from_the_login_node_which_runs_no_daemon_of_slurm(foreign):
    said = foreign.on("door", f"cd {SHARED} && runuser -u trainer -- srun --nodes=2 id -un")
    assert said.split() == ["trainer", "trainer"]
    assert foreign.on("door", "pgrep -x 'slurmd|slurmctld' || true") == ""


def test_a_second_run_changes_nothing(foreign):
    """Of what such an inventory makes different; all roles are seen on the cluster that was made from nothing."""
    for limit in ("", "--limit gpu-08"):
        assert foreign.play(cmdline=f"--tags base,nfs,munge,slurm {limit}").succeeded().changed == []


def test_the_second_controller_takes_over_and_gives_back(foreign):
    job = foreign.on(
        "door", f"cd {SHARED} && runuser -u trainer -- sbatch --parsable --output=/dev/null --wrap 'sleep 60'"
    )
    state = f"squeue --noheader --states=all --jobs={job} --format=%T"
    wait = foreign.cluster.wait_until
    wait(lambda: foreign.on("door", state) == "RUNNING", "the job runs")
    foreign.on("ctl-a.east.example", "systemctl kill --signal=KILL slurmctld; systemctl stop slurmctld")
    wait(lambda: foreign.on("door", f"timeout 5 {state}", check=False) == "RUNNING", "the backup answers", 90)
    assert foreign.on("door", "scontrol ping | grep UP") == "Slurmctld(backup) at node1 is UP"
    foreign.on("door", "scancel --user=trainer")
    foreign.play(cmdline="--tags slurm").succeeded()
    wait(lambda: "(primary) at head is UP" in foreign.on("door", "scontrol ping"), "the first one is back", 60)


def test_storage_that_is_not_shared_is_named(foreign):
    foreign.on("gpu-11", f"mount -t tmpfs alone {SHARED}")
    try:
        foreign.play(cmdline="--tags nfs").failed_with("gpu-11", SHARED)
    finally:
        foreign.on("gpu-11", f"umount {SHARED}")
    foreign.play(cmdline="--tags nfs").succeeded()


def test_without_configless_every_host_has_a_copy(foreign):
    copied = foreign.play(cmdline="--tags slurm", slurm_configless="false").succeeded()
    assert any(task.startswith("gpu-07") for task in copied.changed)
    foreign.on("gpu-07", "test -s /etc/slurm/slurm.conf && ! grep -q conf-server /etc/default/slurmd")
    assert len(foreign.on("door", f"cd {SHARED} && srun --nodes=3 hostname").split()) == 3
    foreign.play(cmdline="--tags slurm").succeeded()
    foreign.on("gpu-07", "test ! -e /etc/slurm/slurm.conf")


def test_the_sites_own_mirror_proxy_certificates_and_limits(foreign, tmp_path):
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=OurSite -keyout /dev/null 2>/dev/null"
    (tmp_path / "ca.pem").write_text(foreign.on("door", make) + "\n")
    sources = foreign.on("door", "grep -h ^deb /etc/apt/sources.list").splitlines()
    site = {
        "base_ca_bundle": str(tmp_path / "ca.pem"),
        "base_proxy": {"http": "http://me:s3cret@192.0.2.1:3128", "except": ["mirror.example.org"]},
        "base_pip_options": {"index-url": "https://me:s3cret@mirror.example.org/simple"},
        "base_apt_sources": sources[:1],
    }
    (tmp_path / "site.yml").write_text(json.dumps(site))  # ansible-runner would show variables that it is given
    changed = foreign.play(cmdline=f"--tags base --limit door --diff -e @{tmp_path}/site.yml", verbosity=3).succeeded()
    assert any("Trust the site" in task for task in changed.changed)
    assert "s3cret" not in changed.output
    readable = foreign.on("door", "runuser -u nobody -- grep -rls s3cret /etc || true")
    assert (readable, foreign.on("door", "journalctl --no-pager | grep -c s3cret || true")) == ("", "0")
    # The bundle holds our authority now.
    foreign.on(
        "door",
        "openssl verify -CAfile /etc/ssl/certs/ca-certificates.crt /usr/local/share/ca-certificates/rackmark-site.crt",
    )
    assert foreign.on("door", "apt-config dump Acquire::http::Proxy").endswith('"http://me:s3cret@192.0.2.1:3128";')
    assert foreign.on("door", "grep ^deb /etc/apt/sources.list") == sources[0]
    assert "index-url = https://me:s3cret@mirror" in foreign.on("door", "runuser -u trainer -- cat /etc/pip.conf")

    def after_login(command):
        return foreign.on("gpu-07", f"runuser -u trainer -- ssh -o BatchMode=yes door '{command}'")

    environment = after_login("env")
    assert "http_proxy=http://192.0.2.1:3128" in environment
    assert "mirror.example.org" in environment
    assert "gpu-07" in environment
    # Whether a login gets them depends on what this machine lets its containers raise, so they are read, not tried.
    limits = foreign.on("door", "grep -v ^# /etc/security/limits.d/rackmark.conf").splitlines()
    assert limits == ["trainer - memlock unlimited", "trainer - nofile 1048576"]

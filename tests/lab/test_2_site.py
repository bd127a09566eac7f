"""site.yml: blank hosts become a cluster, asked of the cluster itself."""

from __future__ import annotations

import base64

import pytest
from lab.cluster import SUBNET
from rackmark.lab import compiled_once

PREFIX = SUBNET.rpartition(".")[0]


def test_check_mode_on_blank_hosts(cluster):
    cluster.play("site.yml", cmdline="--check").succeeded()
    assert cluster.on("node1", "command -v munged slurmd || true") == ""
    assert cluster.on("node1", f"ls {compiled_once.FOLDER}") != "", "modules are compiled anew by each task"


def test_all_nodes_are_idle(provisioned):
    assert provisioned.node_states() == {f"node{number}": "idle" for number in range(1, 5)}


def test_a_job_runs_on_all_nodes(provisioned):
    assert sorted(provisioned.on("head", "srun -N4 hostname").split()) == ["node1", "node2", "node3", "node4"]


def test_a_second_run_changes_nothing_downloads_nothing_and_restarts_nothing(provisioned):
    def at_work() -> dict[str, str]:
        services = {
            "head": "munge slurmctld slurmdbd mariadb prometheus prometheus-alertmanager rackmark-slurm-exporter",
            "node1": "munge slurmd docker prometheus-node-exporter",
        }
        started = {
            f"{node} {name}": provisioned.service_started(node, name)
            for node in services
            for name in services[node].split()
        }
        lists = "stat --format=%Y /var/lib/apt/lists /var/cache/apt/archives /var/log/dpkg.log"
        return {**started, **{node: provisioned.on(node, lists) for node in services}}

    before = at_work()
    again = provisioned.play("site.yml").succeeded()
    assert again.changed == []
    assert set(again.stats) == {"localhost", "head", "node1", "node2", "node3", "node4"}
    assert all(host["changed"] == 0 for host in again.stats.values())
    assert at_work() == before
    assert again.logins["node3"] <= 6, "a host on which nothing has changed is asked once, not by every task"


def test_what_was_changed_by_hand_is_put_right(provisioned):
    """Also by a run that needs no login for what is as it was."""
    provisioned.on("node3", "systemctl disable munge; sed -i 's/^ARGS/GRAS/' /etc/default/prometheus-node-exporter")
    provisioned.on("node3", "dpkg --remove prometheus-node-exporter; chmod 600 /etc/security/limits.d/rackmark.conf")
    again = provisioned.play("site.yml", cmdline="--tags base,munge,node_exporter").succeeded()
    assert sorted(again.changed) == [
        "node3: Install node_exporter",
        "node3: Run munge",
        "node3: Run the node exporter",
        "node3: Write names, limits and the site's settings",
        "node3: Write node_exporter's settings",
    ]


@pytest.mark.parametrize(
    "role",
    [
        "base",
        "nfs",
        "munge",
        "nvidia",
        "ascend",
        "slurm_database",
        "slurm_health",
        "slurm",
        "slurm_access",
        "firewall",
        "docker",
    ],
)
def test_one_role_on_one_host(provisioned, role):
    host = "head" if role == "slurm_database" else "node3"
    once = provisioned.play("site.yml", cmdline=f"--tags {role} --limit {host}").succeeded()
    assert once.changed == []
    assert set(once.stats) <= {host, "localhost"}
    assert once.stats[host]["failures"] == 0


def test_hosts_find_each_other_by_name_without_dns(provisioned):
    assert provisioned.on("node1", "getent hosts node4").split()[0] == f"{PREFIX}.14"
    assert provisioned.on("node1", "getent hosts node1").split()[0] == f"{PREFIX}.11"


def test_the_benchmark_user_is_the_same_everywhere_and_has_no_password(provisioned):
    for node in ("head", "node1", "node4"):
        assert provisioned.on(node, "id -u rackmark; id -g rackmark").split() == ["6100", "6100"]
        assert provisioned.on(node, "getent shadow rackmark").split(":")[1] in ("!", "*")
    assert provisioned.on("node2", "stat -c '%U %a' /userhome/rackmark") == "rackmark 750"


def test_munge_key_is_one_private_and_never_shown(provisioned):
    keys = {provisioned.on(node, "base64 -w0 /etc/munge/munge.key") for node in ("head", "node1", "node4")}
    assert len(keys) == 1
    key = keys.pop()
    assert len(base64.b64decode(key)) == 1024
    assert provisioned.on("node1", "stat -c '%U:%G %a' /etc/munge/munge.key") == "munge:munge 400"
    provisioned.on("node2", "rm /etc/munge/munge.key")
    shown = provisioned.play("site.yml", cmdline="--tags munge --diff", verbosity=3).succeeded()
    assert any("node2" in task for task in shown.changed), "the key was put back"
    assert key[:40] not in shown.output
    assert provisioned.on("node2", "base64 -w0 /etc/munge/munge.key") == key
    credential = provisioned.on("node2", "munge -n")
    assert "Success" in provisioned.on("node1", f"echo {credential} | unmunge")


def test_slurm_conf_lies_on_the_controller_alone(provisioned):
    provisioned.on("head", "test -e /etc/slurm/slurm.conf")
    provisioned.on("node1", "test ! -e /etc/slurm/slurm.conf")


def test_a_node_that_slurm_cannot_use_is_named_with_the_reason(provisioned):
    provisioned.on("node3", "systemctl stop slurmd")
    provisioned.on("head", "scontrol update nodename=node3 state=down reason='fan is broken'")
    try:
        # Not with the slurm role, which would start slurmd again: only the question at its end.
        failed = provisioned.play("tests/lab/ask_slurm.yml")
        failed.failed_with("node3 is down", "fan is broken", "comes back when its slurmd answers")
    finally:
        provisioned.on("node3", "systemctl start slurmd")
    provisioned.play("tests/lab/ask_slurm.yml").succeeded()


@pytest.mark.parametrize("playbook", ["site.yml", "run_resnet.yml"])
def test_an_inventory_without_a_cluster_says_what_to_do(cluster, playbook):
    cluster.play(playbook, cmdline="-i /dev/null").failed_with("lab_up.yml", "-i")


def test_a_run_on_hosts_without_slurm_says_what_to_do(cluster, tmp_path):
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(
        "{all: {children: {slurm_controller: {hosts: {here: {}}}, slurm_compute: {hosts: {here: {}}}},"
        " vars: {ansible_connection: local, ansible_python_interpreter: /usr/bin/python3, benchmark_preset: lab}}}"
    )
    cluster.play("run_resnet.yml", cmdline=f"-i {inventory}").failed_with("run 'ansible-playbook site.yml' first")

"""A cluster that loses a node, shrinks, grows, and goes."""

from __future__ import annotations

import pytest
import yaml
from lab.cluster import NAME, ROOT, HostTraces
from lab.monitoring import FOLDER, Monitoring


def test_a_dead_node_comes_back_with_its_disk_and_takes_jobs(provisioned):
    provisioned.on("node3", "echo kept > /root/mark && sync")
    provisioned.kill_power("node3")
    back = provisioned.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    assert any("Boot the nodes" in task for task in back.changed)
    assert provisioned.on("node3", "cat /root/mark") == "kept"
    provisioned.play("tests/lab/ask_slurm.yml").succeeded()
    assert provisioned.on("head", "srun -w node3 hostname") == "node3"


def test_shrinking_and_growing_a_provisioned_cluster(provisioned):
    provisioned.play("playbooks/lab_up.yml", lab_nodes=2).succeeded()
    assert not (provisioned.directory / "nodes/node3").exists()
    provisioned.play("site.yml", cmdline="--tags base,slurm").succeeded()
    assert provisioned.node_states() == {"node1": "idle", "node2": "idle"}
    provisioned.play("playbooks/lab_up.yml", lab_nodes=3).succeeded()
    provisioned.play("site.yml").succeeded()
    assert provisioned.node_states() == {"node1": "idle", "node2": "idle", "node3": "idle"}
    assert len(provisioned.on("head", "srun -N3 hostname").split()) == 3


SETUP = {
    "slurm_controller": ["head"],
    "slurm_compute": ["node1", "node2", "node3"],
    "slurm_database": ["head"],
    "docker_hosts": ["node1", "node2"],
    "monitoring_server": ["head"],
}
OLD_SERVER = ("prometheus", "prometheus-alertmanager")
NO_LONGER_OF_THE_HEAD = "/etc/prometheus/prometheus.yml /etc/prometheus/alertmanager.yml {FOLDER}/ca.key"
NO_LONGER_OF_NODE2 = "/usr/local/sbin/rackmark-health /etc/slurm/prolog /etc/default/slurmd"
EXPORTERS = ("prometheus-node-exporter", "rackmark-slurm-exporter")


@pytest.fixture
def regrouped(provisioned, tmp_path):
    """Plays site.yml on the same hosts in other groups."""

    def play(options="", **groups):
        children = {name: {"hosts": {host: {} for host in hosts}} for name, hosts in {**SETUP, **groups}.items()}
        (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": children}}))
        inventories = f"-i {ROOT}/inventory/lab.py -i {tmp_path}/hosts.yml"
        return provisioned.play("site.yml", cmdline=f"{inventories} {options}").succeeded()

    return play


def services(cluster, host, names):
    return cluster.on(
        host, f"systemctl is-active {' '.join(names)}; systemctl is-enabled {' '.join(names)}", check=False
    )


def test_a_monitoring_server_that_moves_and_a_node_that_only_logs_in_leave_nothing_behind(provisioned, regrouped):
    groups = {
        "monitoring_server": ["node1"],
        "slurm_compute": ["node1", "node3"],
        "slurm_login": ["node2"],
        "docker_hosts": ["node1"],
    }
    monitoring = "monitoring_access,node_exporter,slurm_exporter,prometheus,alertmanager"
    moved = regrouped(f"--tags {monitoring},slurm,slurm_health,slurm_access,docker", **groups)
    assert "stays in /var/lib/prometheus/metrics2 there" in moved.output
    assert services(provisioned, "head", OLD_SERVER).split() == ["inactive", "inactive", "disabled", "disabled"]
    assert provisioned.on("head", f"ls {NO_LONGER_OF_THE_HEAD} 2>/dev/null", check=False) == ""
    assert provisioned.on("head", "ls /var/lib/prometheus/metrics2") != ""
    assert services(provisioned, "node2", ("slurmd", "docker")).split() == [
        "inactive",
        "inactive",
        "disabled",
        "disabled",
    ]
    assert provisioned.on("node2", f"ls {NO_LONGER_OF_NODE2} 2>/dev/null", check=False) == ""
    assert provisioned.on("node2", "grep pam_slurm_adopt /etc/pam.d/sshd", check=False) == ""
    assert provisioned.on("node2", "srun -N2 hostname | sort").split() == ["node1", "node3"]
    # The new server has another password and authority, and reads every host with them.
    Monitoring(provisioned, server="node1").wait_until_all_are_up()
    assert regrouped("--tags leftovers", **groups).changed == []


def test_groups_that_are_emptied(provisioned, regrouped):
    """First only said, then done; in a group that is filled again the service runs as before."""
    groups = {"monitoring_server": [], "docker_hosts": [], "slurm_database": []}
    said = regrouped("--check --tags leftovers", **groups)
    assert "head: Stop slurmdbd and remove its password" in said.changed
    assert services(provisioned, "head", ("slurmdbd", "mariadb")).split()[:2] == ["active", "active"]
    regrouped("--tags slurm_health,slurm,leftovers", **groups)
    gone = ("slurmdbd", "mariadb", *EXPORTERS)
    assert services(provisioned, "head", gone).split() == ["inactive"] * 4 + ["disabled"] * 3  # of one nothing is left
    for host in ("head", "node1", "node3"):
        assert provisioned.on(host, f"ls -d {FOLDER} 2>/dev/null", check=False) == ""
    assert provisioned.on("head", "ls /var/lib/mysql/slurm_acct_db") != ""
    assert regrouped("--tags leftovers", **groups).changed == []
    regrouped("--tags slurm_database,slurm,monitoring_access,node_exporter,slurm_exporter,prometheus")
    assert (
        services(provisioned, "head", ("slurmdbd", "prometheus", "munge")).split() == ["active"] * 3 + ["enabled"] * 3
    )
    provisioned.wait_until_idle()


def test_lab_down_leaves_no_trace(cluster):
    assert HostTraces.now(NAME).naming(NAME) != []
    cluster.play("playbooks/lab_down.yml").succeeded()
    assert HostTraces.now(NAME).naming(NAME) == []
    assert not cluster.directory.exists()
    again = cluster.play("playbooks/lab_down.yml").succeeded()
    assert again.changed == []

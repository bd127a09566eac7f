"""What an operator does to a cluster at work: nodes come and go, are drained and changed, secrets are replaced."""

from __future__ import annotations

import json
import subprocess

import pytest
from lab.monitoring import FOLDER, Monitoring

SECRETS = {
    "munge's key": ("head", "cat /etc/munge/munge.key | base64 -w0"),
    "the benchmark user's key": ("head", "sed -n 4,5p /home/rackmark/.ssh/id_ed25519 | tr -d '\\n'"),
    "the database's password": ("head", "sed -n s/^StoragePass=//p /etc/slurm/slurmdbd.conf"),
    "monitoring's password": ("head", "cat /etc/rackmark/monitoring/password"),
    "the hash of it": ("head", "cat /etc/rackmark/monitoring/password.bcrypt"),
}


def test_drain_and_resume(provisioned):
    provisioned.play("playbooks/drain.yml", nodes="node[2-3]", reason="fan is loud").succeeded()
    assert provisioned.node_states() == {"node1": "idle", "node2": "drained", "node3": "drained", "node4": "idle"}
    assert "fan is loud" in provisioned.on("head", "sinfo -R --noheader --format=%E")
    again = provisioned.play("playbooks/drain.yml", nodes="node2", reason="another").succeeded()
    assert again.changed == []
    provisioned.play("playbooks/resume.yml", nodes="node2,node3").succeeded()
    provisioned.wait_until_idle()


def test_draining_names_the_jobs_that_still_run(provisioned):
    job = provisioned.start_job(900, "--nodelist=node1")
    late = provisioned.play("playbooks/drain.yml", nodes="node1", wait=2)
    late.failed_with(f"Jobs still run on node1 after 2 seconds: {job} (rackmark, wrap)", "playbooks/resume.yml")
    provisioned.on("head", f"scancel {job}")
    provisioned.play("playbooks/resume.yml", nodes="node1").succeeded()


@pytest.mark.parametrize(
    ("playbook", "nodes"),
    [("drain", "node9"), ("resume", ""), ("add_nodes", "head"), ("remove_nodes", "node9"), ("remove_nodes", "")],
)
def test_a_node_that_is_none_is_named(provisioned, playbook, nodes):
    wrong = provisioned.play(f"playbooks/{playbook}.yml", nodes=nodes)
    if nodes == "node9":
        wrong.failed_with("nodes has 'node9', which is no number and no host or group of the inventory", "did you mean")
    else:
        wrong.failed_with(f"nodes={nodes} names {nodes or 'no host'}", "slurm_compute has node[1-4]")
    provisioned.wait_until_idle()


def test_secrets_are_replaced_under_a_running_job_and_never_shown(provisioned):
    before = {name: provisioned.on(*where) for name, where in SECRETS.items()}
    with provisioned.job_meanwhile("--nodes=4") as job:
        rotated = provisioned.play("playbooks/rotate_secrets.yml", cmdline="--diff", verbosity=3).succeeded()
        # While the job is there: without one, node3 lets the user in no more.
        assert provisioned.on("node2", "runuser -u rackmark -- ssh -o BatchMode=yes node3 hostname") == "node3"
    after = {name: provisioned.on(*where) for name, where in SECRETS.items()}
    for name in SECRETS:
        assert before[name] != after[name], name
        for secret in (before[name], after[name]):
            assert secret[:40] not in rotated.output, name
    assert provisioned.recorded(job) == "rackmark|benchmark|COMPLETED"  # with the new password


def test_secrets_are_for_those_who_use_them_and_in_no_log(provisioned):
    modes = {
        "/etc/munge/munge.key": "munge:munge 400",
        "/home/rackmark/.ssh/id_ed25519": "rackmark:rackmark 600",
        "/etc/slurm/slurmdbd.conf": "slurm:slurm 600",
    }
    assert provisioned.on("head", f"stat -c '%U:%G %a' {' '.join(modes)}").splitlines() == list(modes.values())
    provisioned.on("node1", "rm /etc/munge/munge.key /home/rackmark/.ssh/id_ed25519")
    provisioned.on("head", "sed -i s/^StoragePass=.*/StoragePass=put-there-by-hand/ /etc/slurm/slurmdbd.conf")
    shown = provisioned.play("site.yml", cmdline="--diff", verbosity=3).succeeded()
    assert {task.partition(":")[0] for task in shown.changed} == {"head", "node1"}
    for name, where in SECRETS.items():
        assert provisioned.on(*where)[:40] not in shown.output, name


def test_nothing_is_replaced_while_a_host_cannot_be_reached(provisioned):
    before = {name: provisioned.on(*where) for name, where in SECRETS.items()}
    provisioned.on("node4", "systemctl stop ssh.socket ssh.service 2>/dev/null; true")
    provisioned.hang_up("node4")
    try:
        refused = provisioned.play("playbooks/rotate_secrets.yml")
        assert refused.status != 0
        assert {name: provisioned.on(*where) for name, where in SECRETS.items()} == before
    finally:
        provisioned.kill_power("node4")
        provisioned.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    provisioned.play("tests/lab/ask_slurm.yml").succeeded()


def test_a_broken_munge_key_is_mended_and_the_node_takes_jobs_again(provisioned):
    provisioned.on("node2", "head -c 1024 /dev/urandom > /etc/munge/munge.key && systemctl restart munge slurmd")
    provisioned.play("site.yml", cmdline="--tags munge").succeeded()
    provisioned.on("node2", "systemctl restart slurmd")
    provisioned.play("tests/lab/ask_slurm.yml").succeeded()
    assert provisioned.on("head", "srun --nodelist=node2 hostname") == "node2"


def test_a_lost_munge_key_is_not_replaced_on_a_part_of_the_hosts(provisioned):
    before = provisioned.on("node2", "md5sum /etc/munge/munge.key")
    provisioned.on("head", "mv /etc/munge/munge.key /root/munge.key")
    try:
        for limit in ("node2", "head,node2"):
            refused = provisioned.play("site.yml", cmdline=f"--tags munge --limit {limit}")
            refused.failed_with("head has lost the cluster's munge key", "3-4]", "without --limit")
    finally:
        provisioned.on("head", "mv /root/munge.key /etc/munge/munge.key")
    assert provisioned.on("node2", "md5sum /etc/munge/munge.key") == before


def test_rolling_changes_node_by_node_and_leaves_drained_ones_drained(provisioned):
    provisioned.on("head", "scontrol update nodename=node4 state=drain reason='waits for a part'")
    job = provisioned.start_job(10, "--nodelist=node1")
    provisioned.on("node2", "rm /etc/security/limits.d/rackmark.conf")
    rolled = provisioned.play("playbooks/rolling.yml", batch_size="50%").succeeded()
    assert "node2: Write names, limits and the site's settings" in rolled.changed
    assert provisioned.node_states() == {"node1": "idle", "node2": "idle", "node3": "idle", "node4": "drained"}
    assert provisioned.job_state(job) == "COMPLETED"
    provisioned.play("playbooks/resume.yml", nodes="node4").succeeded()


def test_what_rolling_left_drained_comes_back_and_a_dead_node_holds_no_other_up(provisioned):
    """As after a rolling.yml that was killed: its nodes stay drained for its reason."""
    left = "scontrol update nodename={} state=drain reason='changed by rolling.yml'"
    provisioned.on("head", left.format("node[1-2]"))
    provisioned.on("node3", "systemctl stop slurmd")
    provisioned.on("head", "scontrol update nodename=node3 state=down reason='no power'")
    rolled = provisioned.play("playbooks/rolling.yml", nodes="node1").succeeded()
    assert "node3 is down (no power)" in rolled.output.replace("down*", "down")
    states = provisioned.node_states()
    assert (states["node1"], states["node2"]) == ("idle", "idle")
    provisioned.on("node3", "systemctl start slurmd")
    provisioned.wait_until_idle()

    provisioned.on("head", left.format("node2"))
    provisioned.on("node2", "sed -i 's|^folder = .*|folder = /gone/away|' /etc/slurm/rackmark-health.conf")
    sick = provisioned.play("site.yml", cmdline="--tags slurm")
    sick.failed_with("node2 stays drained", "/gone/away cannot be written to")
    provisioned.play("site.yml", cmdline="--tags slurm_health,slurm").succeeded()
    provisioned.wait_until_idle()


LEFT_BY_ROLES = f"{FOLDER} /usr/local/sbin/rackmark-health /etc/slurm/prolog /etc/security/limits.d/rackmark.conf"
WALL = {"firewall_enabled": True}
OTHERS_CHANGE = {
    node: [f"{node}: Load the firewall", f"{node}: Write the names of all hosts"]
    for node in ("node1", "node2", "node4")
}
OURS = (("head", 6817), ("head", 6819), ("head", 9402), ("node1", 6818), ("node1", 9100))


def answers(cluster, host, port, asked_from=None):
    """Whether a connection is made; from this machine, which is outside of the cluster, or from a host."""
    address = json.loads((cluster.directory / "lab.json").read_text())["nodes"][host]
    command = f"timeout 5 bash -c '</dev/tcp/{address}/{port}' 2>/dev/null && echo open || echo closed"
    if asked_from:
        return cluster.on(asked_from, command) == "open"
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout == "open\n"


@pytest.fixture(scope="module")
def walled(provisioned):
    assert all(answers(provisioned, *place) for place in OURS)
    provisioned.play("site.yml", cmdline="--tags firewall,slurm", **WALL).succeeded()
    return provisioned


def test_the_firewall_lets_the_cluster_in_and_nobody_else(walled):
    assert [place for place in OURS if answers(walled, *place)] == []
    assert answers(walled, "node1", 22)
    assert sorted(walled.on("head", "srun --nodes=2 --nodelist=node[1-2] hostname").split()) == ["node1", "node2"]

    # Whoever empties all tables loses this one as well, until the next run.
    walled.on("node2", "systemctl start nftables && nft list table inet rackmark && nft flush ruleset")
    again = walled.play("site.yml", cmdline="--tags firewall,slurm", **WALL).succeeded()
    assert again.changed == ["node2: Load the firewall"]
    assert not answers(walled, "node2", 6818)


def changes_of(play, host):
    return sorted(task for task in play.changed if task.startswith(f"{host}: "))


def test_a_node_leaves_and_two_come(walled):
    """The firewall and Prometheus follow them, and Prometheus runs on."""
    provisioned, seen = walled, Monitoring(walled)
    started = provisioned.service_started("head", "prometheus")
    provisioned.start_job(900, "--nodelist=node1")
    gone = provisioned.play("playbooks/remove_nodes.yml", nodes="node3", **WALL).succeeded()
    assert not answers(provisioned, "node1", 6818, asked_from="node3")
    assert provisioned.on("node3", "nft list tables | grep rackmark", check=False) == ""
    assert provisioned.node_states() == {"node1": "mixed", "node2": "idle", "node4": "idle"}
    assert provisioned.on("node3", "systemctl is-active slurmd munge; test -e /etc/munge/munge.key", check=False) == (
        "inactive\ninactive"
    )
    provisioned.on("node3", "test ! -e /etc/munge/munge.key && test ! -e /home/rackmark/.ssh/id_ed25519")
    assert provisioned.on("node3", "grep ssh-ed25519 /home/rackmark/.ssh/authorized_keys", check=False) == ""
    assert provisioned.on("node3", "grep pam_slurm_adopt /etc/pam.d/sshd", check=False) == ""
    for node in ("head", "node1", "node4"):
        assert "node3" not in provisioned.on(node, "cat /etc/hosts /etc/ssh/ssh_known_hosts")
    assert changes_of(gone, "node4") == OTHERS_CHANGE["node4"]
    assert provisioned.on("node3", "systemctl is-active prometheus-node-exporter", check=False) == "inactive"
    assert provisioned.on("node3", f"ls -d {LEFT_BY_ROLES}; systemctl is-active docker", check=False) == "inactive"
    assert [
        line
        for line in provisioned.on("node3", "cat /etc/hosts /etc/ssh/ssh_known_hosts").splitlines()
        if "node1" in line
    ] == []
    provisioned.wait_until(lambda: ("node", "node3") not in seen.targets(), "node3 is no target of Prometheus")
    # As after an interruption, when Slurm has forgotten the node already.
    assert provisioned.play("playbooks/remove_nodes.yml", nodes="node3", **WALL).succeeded().changed == []

    # Left in the inventory it joins again; a fifth comes with it. The others only learn the names.
    provisioned.play("playbooks/lab_up.yml", lab_nodes=5).succeeded()
    added = provisioned.play("playbooks/add_nodes.yml", nodes="node3,node5", **WALL).succeeded()
    assert {node: changes_of(added, node) for node in OTHERS_CHANGE} == OTHERS_CHANGE
    both = [("node", node) for node in ("node3", "node5")]
    provisioned.wait_until(lambda: {seen.targets().get(one) for one in both} == {"up"}, "Prometheus sees both", 120)
    assert provisioned.service_started("head", "prometheus") == started
    assert answers(provisioned, "node1", 6818, asked_from="node3")
    assert answers(provisioned, "node1", 6818, asked_from="node5")
    states = provisioned.node_states()
    assert states == {"node1": "mixed", "node2": "idle", "node3": "idle", "node4": "idle", "node5": "idle"}
    assert len(provisioned.on("head", "srun --nodes=4 --exclude=node1 hostname").split()) == 4
    provisioned.on("head", "scancel --user=rackmark")
    provisioned.play("playbooks/remove_nodes.yml", nodes="node5", **WALL).succeeded()
    provisioned.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    assert provisioned.play("site.yml", **WALL).succeeded().changed == []


def test_without_the_firewall_everybody_is_let_in_again(walled):
    walled.play("site.yml", cmdline="--tags firewall,slurm").succeeded()
    assert all(answers(walled, *place) for place in OURS)
    walled.wait_until_idle()


def test_power_cut_in_the_middle_of_site(provisioned):
    """dpkg is left with work half done; the next run finishes it."""
    log = provisioned.directory / "nodes/node4/root/var/log/dpkg.log"
    provisioned.on("node4", "apt-get purge -y -qq docker.io containerd runc slurmd munge libmunge2 >/dev/null 2>&1")
    before = log.read_text().count(" status unpacked ")
    with provisioned.playing("site.yml", "--limit", "node4") as playbook:
        provisioned.wait_until(
            lambda: log.read_text().count(" status unpacked ") > before + 2, "dpkg is at work", 120, pause=0.01
        )
        provisioned.kill_power("node4")
        assert playbook.wait(timeout=300) != 0
    provisioned.play("playbooks/lab_up.yml", lab_nodes=4).succeeded()
    assert provisioned.on("node4", "dpkg --audit") != "", "the cut came too late to mean anything"
    provisioned.play("site.yml", cmdline="--limit node4").succeeded()
    assert provisioned.on("node4", "dpkg --audit") == ""
    provisioned.wait_until_idle()

"""The benchmark user turns on the cluster: links in its home, in shared folders, in /tmp; and a machine that lies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

# Python reads it for whatever runs as the user, modules of Ansible as well.
FORGERY = """\
import sys
class Forged:
    def __init__(self, real):
        self.real = real
    def write(self, text):
        return self.real.write(text.replace('"run_id": "2', '"run_id": "../../../2'))
    def __getattr__(self, name):
        return getattr(self.real, name)
sys.stdout = Forged(sys.stdout)
"""

NODES = ("head", "node1", "node2", "node3", "node4")
# What each host's user has put where its SSH key belongs.
TRAPS = {
    "head": "rm ~/.ssh/id_ed25519; ln -s /etc/ssh/ssh_host_ed25519_key ~/.ssh/id_ed25519",
    "node1": "mv ~/.ssh ~/.s; ln -s /etc/slurm ~/.ssh",
    "node2": "mv ~/.ssh ~/.s; ln -s /root/.ssh ~/.ssh",
    "node3": "rm ~/.ssh/authorized_keys; ln -s /etc/shadow ~/.ssh/authorized_keys; mkfifo ~/.ssh/id_ed25519.pub.x;"
    " mv ~/.ssh/id_ed25519.pub.x ~/.ssh/id_ed25519.pub",
    "node4": "chmod 000 ~/.ssh",
}
RIGHTS = (
    "find /etc /root /usr/local /var/lib/rackmark -printf '%p %u %g %m\\n' | grep -v -e /root/.ansible -e mtab | sort"
)


def as_user(cluster, node, script):
    return cluster.on(node, f"runuser -u rackmark -- sh -c '{script}'")


@pytest.fixture(scope="module")
def attacked(provisioned):
    """Everything is in place at once, and one run of role base meets it."""
    rights = {node: provisioned.on(node, RIGHTS) for node in NODES}
    host_key = provisioned.on("head", "cat /etc/ssh/ssh_host_ed25519_key")
    for node, trap in TRAPS.items():
        as_user(provisioned, node, trap)
    lie = "python3 -c \"import socket; socket.sethostname('evil node3 head')\""
    provisioned.on("node4", lie)
    provisioned.on("node2", "sed -i '1i 10.94.0.99 head node3.old\\n10.94.0.98 node1 # moved' /etc/hosts")
    watcher = Path(__file__).parent / "hostile_watcher.py"
    provisioned.copy(watcher, "node1", "/usr/local/bin/hostile_watcher.py")
    ssh = ["ssh", "-F", str(provisioned.directory / "ssh_config"), "node1"]
    command = [*ssh, "exec runuser -u rackmark -- python3 /usr/local/bin/hostile_watcher.py"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        lied = provisioned.play("site.yml", cmdline="--tags base")
        provisioned.on("node4", "hostname node4")
        told = provisioned.play("site.yml", cmdline="--tags base,munge,slurm_health,slurm").succeeded()
        taken, _ = process.communicate("end\n")
    provisioned.on("node1", "rm /usr/local/bin/hostile_watcher.py")
    yield {"rights": rights, "host_key": host_key, "lied": lied, "told": told, "taken": taken}
    for node in NODES:
        provisioned.on(node, "rm -rf ~rackmark/.s ~rackmark/.ssh/*.set-aside-* ~rackmark/.ssh.set-aside-*")
    provisioned.play("site.yml", cmdline="--tags base,munge,slurm_health,slurm").succeeded()


@pytest.mark.parametrize("node", NODES)
def test_nothing_outside_its_home_changes_its_owner_or_rights(provisioned, attacked, node):
    before, after = (set(text.splitlines()) for text in (attacked["rights"][node], provisioned.on(node, RIGHTS)))
    assert before - after == set()


def test_the_hosts_private_key_stays_where_it_is(provisioned, attacked):
    for node in NODES:
        assert attacked["host_key"] not in provisioned.on(node, "cat ~rackmark/.ssh/id_ed25519")
    assert provisioned.on("head", "stat --format=%U /etc/ssh/ssh_host_ed25519_key") == "root"


def test_the_user_may_still_log_in_between_the_hosts(provisioned, attacked):
    for node in NODES[1:]:
        assert as_user(provisioned, "head", f"ssh -o BatchMode=yes -o ConnectTimeout=5 {node} id -un || true") in (
            "rackmark",
            "",  # where a login takes a job
        )
    keys = {provisioned.on(node, "cat ~rackmark/.ssh/id_ed25519") for node in NODES}
    assert len(keys) == 1


def test_nothing_in_shared_places_could_be_read_or_exchanged(attacked):
    assert attacked["taken"] == ""


def test_a_machine_that_lies_about_its_name_is_named_and_believed_by_nobody(provisioned, attacked):
    attacked["lied"].failed_with("node4 calls itself 'evil node3 head'", "hostnamectl set-hostname node4")
    for node in NODES:
        assert "evil" not in provisioned.on(node, "cat /etc/hosts")


def test_a_stale_line_of_hosts_does_not_lead_elsewhere(provisioned, attacked):
    lines = provisioned.on("node2", "cat /etc/hosts").splitlines()
    assert lines[0] == "10.94.0.99 node3.old"
    assert not any("moved" in line for line in lines)
    assert provisioned.on("node2", "scontrol ping").endswith("is UP")


@pytest.mark.parametrize(
    ("trap", "sentence"),
    [
        ("ln -s /etc/slurm {0}", "leads through the link rackmark of daemon to /etc/slurm"),
        ("mkdir {0}", "was made by daemon"),
    ],
)
def test_a_shared_folder_in_which_others_may_write(provisioned, trap, sentence):
    """Somebody was there before the benchmark user: here the user daemon."""
    provisioned.on("head", "mkdir -m 1777 /srv/open")
    try:
        provisioned.on("head", f"runuser -u daemon -- {trap.format('/srv/open/rackmark')}")
        provisioned.play("site.yml", cmdline="--tags base", cluster_shared_dir="/srv/open").failed_with(sentence)
        assert provisioned.on("head", "stat --format=%U /etc/slurm") == "root"
    finally:
        provisioned.on("head", "rm -r /srv/open")


def test_the_user_cannot_drain_a_node(provisioned):
    """By what it does to its folder, to the check's process, and to files that it may open."""
    folder = provisioned.on("node2", "sed -n 's/^folder = //p' /etc/slurm/rackmark-health.conf")
    as_user(provisioned, "node2", f"mkdir {folder}/.rackmark-health-node2; chmod 500 {folder}")
    hold = "flock /etc/slurm/rackmark-health.conf sleep 60"
    stop = "while true; do pkill -STOP -f rackmark.health; pkill -KILL -f rackmark.health; done"
    as_user(provisioned, "node2", f'setsid {hold} >/dev/null 2>&1 & setsid sh -c "{stop}" >/dev/null 2>&1 &')
    try:
        assert (
            provisioned.on("node2", "for i in 1 2 3 4 5; do rackmark-health --prolog && echo well; done").split()
            == ["well"] * 5
        )
        assert "cannot write to its own" in provisioned.on("node2", "rackmark-health --show")
    finally:
        provisioned.on(
            "node2", f"pkill -KILL -u rackmark; chmod 750 {folder}; rmdir {folder}/.rackmark-health-node2; true"
        )
    assert provisioned.node_states()["node2"] == "idle"


def test_a_run_cannot_be_given_a_name_that_leads_elsewhere(provisioned, tmp_path):
    forgery = tmp_path / "usercustomize.py"
    forgery.write_text(FORGERY)
    provisioned.copy(forgery, "head", "/tmp/usercustomize.py")
    site = "$(python3 -m site --user-site)"
    as_user(provisioned, "head", f"mkdir -p {site} && cp /tmp/usercustomize.py {site}/")
    try:
        provisioned.play("run_resnet.yml", plan=True).failed_with("head calls the run ../../../2")
    finally:
        as_user(provisioned, "head", "rm -rf ~/.local")
        provisioned.on("head", "rm /tmp/usercustomize.py")

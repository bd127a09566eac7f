"""bootstrap_ssh: from hosts that only have a password to hosts that take a key, without locking anybody out."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path

import pexpect
import pytest
import yaml
from lab.cluster import ROOT
from rackmark.ssh_bootstrap import PASSWORD_METHODS, Target, host_keys, login_methods

PASSWORD = "three-Blind-mice-4711"
RELOAD = "systemctl reload ssh && sleep 1"  # it is deaf for a moment
SETTINGS = "/etc/ssh/sshd_config.d/00-rackmark.conf"


class Strangers:
    """Nodes whose users 'admin' have a password, may use sudo with it, and have no key."""

    def __init__(self, cluster, directory):
        self.cluster = cluster
        self.addresses = {node: json.loads(_record(cluster))["nodes"][node] for node in ("head", "node1", "node2")}
        self.key = directory / "ssh/id_ed25519"
        self.known_hosts = directory / "ssh/known_hosts"
        self.inventory = directory / "hosts.yml"
        self.list_hosts("head", "node1", "node2")
        for node in self.addresses:
            cluster.on(node, "id admin || useradd --create-home --shell /bin/bash --groups sudo admin")
            cluster.on(node, f"echo admin:{PASSWORD} | chpasswd; echo root:{PASSWORD} | chpasswd")

    def list_hosts(self, *nodes, user="admin", **more):
        hosts = {node: {"ansible_host": self.addresses[node]} for node in nodes}
        self.inventory.write_text(yaml.safe_dump({"all": {"vars": {"ansible_user": user}, "hosts": {**hosts, **more}}}))

    @property
    def variables(self):
        return {"bootstrap_key": str(self.key), "bootstrap_known_hosts": str(self.known_hosts)}

    def fingerprints(self):
        keys = {
            node: self.cluster.on(node, "cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub") for node in self.addresses
        }
        return {node: host_keys(f"{node} {key}")[0].fingerprint for node, key in keys.items()}

    def play(self, *, cmdline="", **options):
        cmdline = f"-i {self.inventory} {cmdline}"
        return self.cluster.play("playbooks/bootstrap_ssh.yml", cmdline=cmdline, **self.variables, **options)

    @property
    def command(self):
        """The playbook as a person types it."""
        variables = [f"--extra-vars={key}={value}" for key, value in self.variables.items()]
        return ["ansible-playbook", "-i", str(self.inventory), "playbooks/bootstrap_ssh.yml", *variables]

    def taken_over(self):
        """All nodes, by key."""
        self.list_hosts("head", "node1", "node2")
        self.play(bootstrap_fingerprints=self.fingerprints()).succeeded()

    def ssh(self, node, command, *options, user="admin"):
        target = Target(node, self.addresses[node], 22, user, self.key, self.known_hosts)
        return subprocess.run(target.ssh(command, *options), capture_output=True, text=True, check=False, timeout=60)

    def ways_in(self, node, user="admin"):
        refused = self.ssh(node, "true", "PubkeyAuthentication=no", "PreferredAuthentications=none", user=user)
        return login_methods(refused.stderr)


def _record(cluster):
    return (cluster.directory / "lab.json").read_text()


@pytest.fixture(scope="module")
def booted(no_cluster):
    no_cluster.boot_for("two nodes", lab_nodes=2)
    return no_cluster


@pytest.fixture
def strangers(booted, tmp_path, monkeypatch):
    monkeypatch.setenv("RACKMARK_BOOTSTRAP_PASSWORD", PASSWORD)
    (tmp_path / "ssh").mkdir(mode=0o700)
    strangers = Strangers(booted, tmp_path)
    yield strangers
    for node in strangers.addresses:
        # By way of the node's disk: one that lets nobody in is put right, too.
        (booted.directory / "nodes" / node / "root" / SETTINGS.lstrip("/")).unlink(missing_ok=True)
    for node in strangers.addresses:
        strangers.ssh(node, f"sudo {RELOAD}")
        booted.on(node, "userdel --remove admin; rm -f /etc/sudoers.d/rackmark-admin")


class ArgumentWatch:
    """Looks for a word in the arguments of all processes, those in the nodes too, for as long as it lasts."""

    def __init__(self, word):
        self.word, self.seen, self.looks = word.encode(), set(), 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.over.is_set():
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    arguments = path.read_bytes()
                except OSError:  # ended meanwhile
                    continue
                if self.word in arguments:
                    self.seen.add(arguments)
            self.looks += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def test_hosts_that_cannot_be_taken_over_are_named_and_the_others_go_on(strangers):
    """A wrong password, a host that is off and a host key that changed."""
    fingerprints = strangers.fingerprints()
    strangers.list_hosts("head", "node1", "node2", off={"ansible_host": strangers.addresses["node2"][:-2] + "99"})
    strangers.cluster.on("node1", "echo admin:another | chpasswd")
    other_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHqTKSf1AYn8ZFo6Q7eg2YLbxRmCqqMtsUUxvUPeFxUv"
    strangers.known_hosts.write_text(f"{strangers.addresses['head']} {other_key}\n")
    play = strangers.play(bootstrap_fingerprints=fingerprints)
    play.failed_with(
        "node1 (", "refuses the password for admin", "off (", "cannot be reached", "head (", "ssh-keygen -R"
    )
    assert {host: told["failures"] for host, told in play.stats.items()} == {
        "localhost": 0,
        "head": 1,
        "node1": 1,
        "node2": 0,
        "off": 1,
    }
    assert strangers.ssh("node2", "sudo -n id -un").stdout == "root\n"


def test_a_second_run_changes_nothing_and_wants_no_password(strangers, monkeypatch):
    strangers.taken_over()
    monkeypatch.delenv("RACKMARK_BOOTSTRAP_PASSWORD")
    assert strangers.play().succeeded().changed == []
    assert strangers.play(cmdline="--check").succeeded().changed == []


def test_the_password_is_in_no_log_no_file_and_no_argument_list(strangers):
    with ArgumentWatch(PASSWORD) as watch:
        play = strangers.play(
            verbosity=3,
            cmdline="--diff",
            bootstrap_fingerprints=strangers.fingerprints(),
            bootstrap_password_login=False,
        ).succeeded()
    assert watch.looks > 10
    assert watch.seen == set()
    assert PASSWORD not in play.output
    # ansible-runner, not Rackmark, writes down the environment that these tests run in, in files of this name.
    search = ["grep", "-rlF", "--exclude=command", PASSWORD]
    places = [str(strangers.cluster.artifacts), str(strangers.key.parent), str(ROOT / ".cache")]
    assert subprocess.run([*search, *places], capture_output=True, text=True, check=False).stdout == ""
    search = f"grep -rlF {PASSWORD} /etc /var/log /root /home /tmp; journalctl --no-pager | grep -cF {PASSWORD}"
    for node in strangers.addresses:
        assert strangers.cluster.on(node, search, check=False) == "0"


def test_check_mode_changes_nothing(strangers):
    would = strangers.play(cmdline="--check").succeeded()
    assert {task.partition(":")[0] for task in would.changed} >= {"head", "node1", "node2"}
    assert not strangers.known_hosts.exists()
    assert not strangers.key.exists()
    assert strangers.cluster.on("node1", "ls -d /home/admin/.ssh || true") == ""


def test_a_person_is_asked_once_for_all_host_keys_and_once_for_the_password(strangers, monkeypatch):
    monkeypatch.delenv("RACKMARK_BOOTSTRAP_PASSWORD")

    def terminal():
        return pexpect.spawn(strangers.command[0], strangers.command[1:], cwd=str(ROOT), timeout=60)

    doubting = terminal()
    doubting.expect('Only "yes" is a yes')
    shown = doubting.before.decode()
    assert all(fingerprint in shown for fingerprint in strangers.fingerprints().values())
    doubting.sendline("y")
    doubting.expect("nobody vouches for it")
    doubting.expect(pexpect.EOF)
    assert not strangers.known_hosts.exists()

    agreeing = terminal()
    agreeing.expect('Only "yes" is a yes')
    agreeing.sendline("yes")
    agreeing.expect("Password of the login user")
    agreeing.sendline(PASSWORD)
    agreeing.expect(pexpect.EOF)
    agreeing.close()
    assert agreeing.exitstatus == 0
    assert PASSWORD not in agreeing.before.decode()
    assert strangers.ssh("node1", "id -un").stdout == "admin\n"


def test_without_a_terminal_and_without_a_password_the_way_out_is_said(strangers, monkeypatch):
    monkeypatch.delenv("RACKMARK_BOOTSTRAP_PASSWORD")

    def said(*options):
        command = [*strangers.command, *options]
        done = subprocess.run(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode != 0
        return done.stdout + done.stderr

    assert "nobody vouches for it: run in a terminal and answer yes, or" in said()
    vouched = json.dumps({"bootstrap_fingerprints": strangers.fingerprints()})
    assert "set RACKMARK_BOOTSTRAP_PASSWORD" in said("-e", vouched)


def test_passwords_and_root_can_be_shut_out(strangers):
    strangers.taken_over()
    # As images for clouds have it; sshd heeds the first word on a setting.
    cloud = "/etc/ssh/sshd_config.d/50-cloud-init.conf"
    strangers.cluster.on("node1", f"echo PasswordAuthentication yes > {cloud} && {RELOAD}")
    shut = {"bootstrap_password_login": False, "bootstrap_root_login": False}
    assert "password" in strangers.ways_in("node1")
    assert len(strangers.play(**shut).succeeded().changed) == 3
    assert not set(strangers.ways_in("node1")) & set(PASSWORD_METHODS)
    assert strangers.ssh("node1", "sudo sshd -T | grep permitrootlogin").stdout == "permitrootlogin no\n"
    assert strangers.play(**shut).succeeded().changed == []
    strangers.ssh("node1", f"sudo rm {cloud}")


def test_an_sshd_config_that_reads_no_further_files_is_changed_itself(strangers):
    strangers.taken_over()
    config = "/etc/ssh/sshd_config"
    strangers.cluster.on("node1", f"cp -p {config} /root/kept && sed -i '/^Include/d' {config} && {RELOAD}")
    try:
        for changes in (1, 0):
            play = strangers.play(cmdline="--limit node1", bootstrap_password_login="false").succeeded()
            assert len(play.changed) == changes
        assert not set(strangers.ways_in("node1")) & set(PASSWORD_METHODS)
        assert strangers.cluster.on("node1", f"ls {SETTINGS} || true") == ""
    finally:
        strangers.cluster.on("node1", f"mv /root/kept {config} && {RELOAD}")


def test_settings_that_lock_out_take_themselves_back(strangers):
    strangers.taken_over()
    trap = f"account required pam_exec.so quiet /usr/bin/test ! -e {SETTINGS}"
    strangers.cluster.on("node1", f"cp -p /etc/pam.d/sshd /root/kept && echo '{trap}' >> /etc/pam.d/sshd")
    try:
        play = strangers.play(bootstrap_password_login=False)
        play.failed_with("node1 (", "has its old sshd settings back, since a new login by key failed")
        assert play.stats["node2"]["failures"] == 0
    finally:
        strangers.cluster.on("node1", "mv /root/kept /etc/pam.d/sshd")
    assert strangers.cluster.on("node1", f"ls {SETTINGS} || true") == ""
    assert "password" in strangers.ways_in("node1")


def test_settings_that_another_line_overrides_are_not_called_done(strangers):
    strangers.taken_over()
    config = "/etc/ssh/sshd_config"
    strangers.cluster.on("node1", f"cp -p {config} /root/kept && sed -i '1i PasswordAuthentication yes' {config}")
    try:
        strangers.play(bootstrap_password_login=False).failed_with("node1 (", "another line in /etc/ssh wins")
    finally:
        strangers.cluster.on("node1", f"mv /root/kept {config}")
    assert strangers.cluster.on("node1", f"ls {SETTINGS} || true") == ""


def test_root_is_taken_over_and_not_shut_out_by_itself(strangers):
    """A host that lets root in with a password, as rented machines come."""
    let_in = "/etc/ssh/sshd_config.d/50-root.conf"
    strangers.cluster.on("node1", f"echo PermitRootLogin yes > {let_in} && {RELOAD}")
    strangers.list_hosts("node1", user="root")
    strangers.play(bootstrap_fingerprints=strangers.fingerprints(), bootstrap_root_login=False).failed_with(
        "is reached as root"
    )
    strangers.play(bootstrap_fingerprints=strangers.fingerprints(), bootstrap_password_login="false").succeeded()
    assert strangers.ssh("node1", "id -un", user="root").stdout == "root\n"
    assert not set(strangers.ways_in("node1", user="root")) & set(PASSWORD_METHODS)
    strangers.cluster.on("node1", f"rm {let_in}; sed -i '/ rackmark$/d' /root/.ssh/authorized_keys")

"""Host keys, scripts and settings on the way from a password to a key."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from rackmark.ssh_bootstrap import (
    BootstrapError,
    Doors,
    HostKey,
    Target,
    add_key_script,
    as_root,
    host_keys,
    known_name,
    login_methods,
    sudo_script,
    trusted_key,
    vouched_key,
)

ED25519 = HostKey("ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5AAAAIHqTKSf1AYn8ZFo6Q7eg2YLbxRmCqqMtsUUxvUPeFxUv")
OTHER = HostKey("ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5AAAAIDBqOg1rsDCtkUeUfx8MurOwE3int0xTBtfsorreqi//")
NODE1 = Target("node1", "192.0.2.11", 22, "admin", Path("/keys/id"), Path("/keys/known_hosts"))


def run(script, home):
    return subprocess.run(["sh", "-c", script], env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, check=True)


def test_a_fingerprint_is_the_one_that_ssh_keygen_shows(tmp_path):
    (tmp_path / "key.pub").write_text(f"{ED25519.kind} {ED25519.blob}\n")
    shown = subprocess.run(["ssh-keygen", "-lf", tmp_path / "key.pub"], capture_output=True, text=True, check=True)
    assert shown.stdout.split()[1] == ED25519.fingerprint


def test_keys_come_best_first_and_without_what_is_no_key():
    scanned = f"# 192.0.2.11:22 SSH-2.0-OpenSSH\n192.0.2.11 ssh-rsa AAAA\n192.0.2.11 {ED25519.kind} {ED25519.blob}\n\n"
    assert [key.kind for key in host_keys(scanned)] == ["ssh-ed25519", "ssh-rsa"]


def test_a_host_on_another_port_has_the_name_that_ssh_looks_up():
    assert known_name("192.0.2.11", 22) == "192.0.2.11"
    assert ED25519.line("192.0.2.11", 2222).startswith("[192.0.2.11]:2222 ssh-ed25519 ")


def test_a_known_key_is_trusted_an_unknown_host_is_not_and_a_changed_key_is_refused():
    assert trusted_key(NODE1, [ED25519], [ED25519]) == ED25519
    assert trusted_key(NODE1, [ED25519], []) is None
    with pytest.raises(BootstrapError) as refused:
        trusted_key(NODE1, [ED25519], [OTHER])
    for words in ("node1 (192.0.2.11)", ED25519.fingerprint, OTHER.fingerprint, "ssh-keygen -R '192.0.2.11'"):
        assert words in str(refused.value)


def test_a_given_fingerprint_picks_the_key_or_refuses_the_host():
    assert vouched_key(NODE1, [OTHER, ED25519], ED25519.fingerprint) == ED25519
    with pytest.raises(BootstrapError, match="bootstrap_fingerprints says SHA256:wrong"):
        vouched_key(NODE1, [ED25519], "SHA256:wrong")


def test_what_a_server_would_have_accepted():
    assert login_methods("a@b: Permission denied (publickey,password).") == ["publickey", "password"]
    assert login_methods("ssh: connect to host b port 22: Connection refused") == []


def test_only_a_script_that_needs_no_password_runs_without_being_fed_one():
    assert as_root("true", "root") == "sh -c true"
    assert as_root("a b", "admin") == "sudo -n sh -c 'a b'"
    assert as_root("a b", "admin", asks_password=True) == "sudo -S -p '' sh -c 'a b'"


def test_a_key_is_added_once_beside_the_others(tmp_path):
    keys = tmp_path / ".ssh/authorized_keys"
    run(add_key_script("ssh-ed25519 AAAA me@here's\n"), tmp_path)
    assert oct(keys.stat().st_mode & 0o777) == "0o600"
    assert oct(keys.parent.stat().st_mode & 0o777) == "0o700"
    keys.write_text("ssh-ed25519 BBBB without-newline")
    for _ in range(2):
        run(add_key_script("ssh-ed25519 AAAA me@here's\n"), tmp_path)
    assert keys.read_text() == "ssh-ed25519 BBBB without-newline\nssh-ed25519 AAAA me@here's\n"


def test_a_users_sudo_file_has_a_name_that_sudo_reads():
    assert "/etc/sudoers.d/rackmark-jo_doe" in sudo_script("jo.doe")


def test_nothing_is_set_unless_it_was_asked_for():
    assert Doors().settings == []
    assert Doors(root=False).settings == ["PubkeyAuthentication yes", "PermitRootLogin no"]
    assert "kbdinteractiveauthentication no" in Doors(password=False).effective

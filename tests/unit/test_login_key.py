"""The key in a user's home, and work that is done with that user's rights."""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from pathlib import Path

import pytest
from rackmark import login_key
from rackmark.as_user import as_user

ME = pwd.getpwuid(os.getuid())


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    path = tmp_path_factory.mktemp("key") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "x", "-f", str(path)], check=True)
    return path.read_text(), path.with_name("key.pub").read_text()


@pytest.fixture
def home(tmp_path):
    return tmp_path


def settle(home, pair, only_look=False):
    return login_key.settle(home, ME.pw_name, *pair, only_look)


def test_a_key_is_written_once_and_read_again(home, pair):
    assert settle(home, pair, only_look=True)
    assert list(home.iterdir()) == []
    assert settle(home, pair)
    assert not settle(home, pair)
    assert login_key.present_key(home) == pair[0]
    modes = {path.name: path.stat().st_mode & 0o777 for path in (home / ".ssh").iterdir()}
    assert modes == {"id_ed25519": 0o600, "id_ed25519.pub": 0o644, "authorized_keys": 0o600}


def test_only_the_clusters_key_is_withdrawn(home, pair):
    (home / ".ssh").mkdir()
    (home / ".ssh/authorized_keys").write_text("ssh-ed25519 AAAA someone\n")
    settle(home, pair)
    assert login_key.withdraw(home, ME.pw_name, only_look=False)
    assert [path.name for path in (home / ".ssh").iterdir()] == ["authorized_keys"]
    assert (home / ".ssh/authorized_keys").read_text() == "ssh-ed25519 AAAA someone\n"
    assert not login_key.withdraw(home, ME.pw_name, only_look=False)


@pytest.mark.parametrize(
    "put",
    [
        "ln -s ../elsewhere .ssh",
        "touch .ssh",
        "mkfifo .ssh",
        "mkdir .ssh; ln -s ../../elsewhere/file .ssh/id_ed25519",
        "mkdir .ssh; mkfifo .ssh/id_ed25519",
        "mkdir -p .ssh/id_ed25519/x",
        "mkdir -p .ssh; ln -s ../../elsewhere/file .ssh/authorized_keys",
        "mkdir .ssh; ln -s /dev/zero .ssh/id_ed25519.pub",
        "mkdir .ssh; touch .ssh/id_ed25519; chmod 000 .ssh/id_ed25519 .ssh",
    ],
)
def test_what_is_in_the_place_of_a_key_is_set_aside_and_never_read(tmp_path, pair, put):
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    (elsewhere / "file").write_text("another's secret")
    before = elsewhere.stat().st_mode
    subprocess.run(put, shell=True, cwd=home, check=True)
    assert login_key.present_key(home) is None
    assert settle(home, pair, only_look=True)
    assert settle(home, pair)
    assert not settle(home, pair)
    assert login_key.present_key(home) == pair[0]
    assert [path.name for path in elsewhere.iterdir()] == ["file"]
    assert (elsewhere / "file").read_text() == "another's secret"
    assert elsewhere.stat().st_mode == before


@pytest.mark.parametrize("text", ["", "-----BEGIN RSA PRIVATE KEY-----\nx\n", "root:x:0:0\n", "A" * 30000])
def test_what_is_no_key_is_no_key(home, text):
    (home / ".ssh").mkdir()
    (home / ".ssh/id_ed25519").write_text(text)
    assert login_key.present_key(home) is None


def test_what_is_done_as_a_user_comes_back_and_its_errors_are_sentences():
    assert as_user(ME, lambda: {"pid": os.getpid()})["pid"] != os.getpid()
    with pytest.raises(ValueError, match="No such file"):
        as_user(ME, lambda: Path("/nowhere/x").read_text())


def test_a_home_that_does_not_answer_is_named():
    with pytest.raises(ValueError, match=rf"{ME.pw_dir} of {ME.pw_name} did not answer in 0\.2 s"):
        as_user(ME, lambda: time.sleep(60), seconds=0.2)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take on the rights of others")
def test_root_has_the_users_rights_and_none_of_its_own(tmp_path):
    nobody = pwd.getpwnam("nobody")
    with pytest.raises(ValueError, match="Permission denied"):
        as_user(nobody, lambda: Path("/etc/shadow").read_text())
    ids = as_user(nobody, lambda: {"effective": os.geteuid(), "real": os.getuid(), "groups": os.getgroups()})
    assert (ids["effective"], ids["real"]) == (nobody.pw_uid, 0)
    assert 0 not in ids["groups"]

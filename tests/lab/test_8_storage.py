"""Shared storage that is there already: it is used only if it really is shared."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def storage(no_cluster):
    no_cluster.boot_for("two nodes", lab_nodes=2)
    no_cluster.play("site.yml", cmdline="--tags base,nfs").succeeded()
    return no_cluster


def check(storage, cmdline=""):
    return storage.play("site.yml", cmdline=f"--tags nfs {cmdline}")


def test_storage_that_is_shared_passes_and_keeps_no_trace_of_the_check(storage):
    for limit in ("", "--limit node2", "--check"):
        assert check(storage, limit).succeeded().changed == []
    assert storage.on("head", "ls -A /userhome/rackmark") == ""


def test_a_host_with_a_folder_of_its_own_is_named_and_the_others_pass(storage):
    own = "mount -t tmpfs own /userhome && install -d -o rackmark -g rackmark /userhome/rackmark"
    storage.on("node2", own)
    try:
        play = check(storage)
        play.failed_with("node2 does not see what head wrote", "node2 has /userhome from own (tmpfs)")
        assert {host: told["failures"] for host, told in play.stats.items() if host != "localhost"} == {
            "head": 0,
            "node1": 0,
            "node2": 1,
        }
        assert storage.on("head", "ls -A /userhome/rackmark") == ""
    finally:
        storage.on("node2", "umount /userhome")


def test_a_folder_that_the_user_may_not_write_in_is_said(storage):
    storage.on("head", "chown root:root /userhome/rackmark")
    try:
        check(storage).failed_with("rackmark cannot write in /userhome/rackmark on head", "Permission denied")
    finally:
        storage.on("head", "chown rackmark:rackmark /userhome/rackmark")

"""Whether a run over SSH is let in; ssh itself is stood in for by a script."""

from __future__ import annotations

import pytest
from rackmark.run.job_state import QueueError
from rackmark.run.queues.ssh import require_login

SSH = """#!/bin/sh
for host; do shift; [ $# -eq 1 ] && break; done
case $host in
    node[23]) echo "Access denied by pam_slurm_adopt: you have no active jobs on this node" >&2; exit 255 ;;
    node4) echo "ssh: connect to host node4 port 22: No route to host" >&2; exit 255 ;;
esac
"""


@pytest.fixture(autouse=True)
def ssh(tmp_path, monkeypatch):
    (tmp_path / "ssh").write_text(SSH)
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def test_nodes_that_want_a_job_are_named_with_the_ways_out():
    with pytest.raises(QueueError, match=r"^node\[2-3\] lets this user in only .*slurm_access_enabled: false"):
        require_login(["node1", "node2", "node3", "node4", "node5"])


def test_hosts_that_let_in_or_have_other_troubles_and_the_one_that_starts_are_none_of_its_business():
    require_login(["node2", "node4", "node5"])
    require_login(["node2"])
    require_login([])

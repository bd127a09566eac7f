"""Two runs on one cluster: processes that live, end, and pretend."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rackmark.run_lock import take

MODULE_UTILS = Path(__file__).parents[2] / "module_utils"
TAKE_AND_STAY = """
import os, sys
from pathlib import Path
from rackmark.run_lock import take
print(take("10.0.0.1 22", os.getpid(), "alice", "site.yml", Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that has the lock and goes on."""
    with subprocess.Popen(
        [sys.executable, "-c", TAKE_AND_STAY, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(MODULE_UTILS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "None\n"
        yield process
        process.kill()


def take_it(folder, cluster="10.0.0.1 22"):
    return take(cluster, os.getpid(), "bob", "rolling.yml", folder)


def test_the_second_is_told_who_the_first_is(tmp_path, other):
    holder = take_it(tmp_path)
    assert (holder.pid, holder.user, holder.playbook) == (other.pid, "alice", "site.yml")
    assert len(list(tmp_path.iterdir())) == 1, "the second leaves nothing"


def test_other_clusters_are_not_held_up(tmp_path, other):
    assert take_it(tmp_path, "10.0.0.2 22") is None


def test_a_process_that_was_killed_holds_nothing_not_even_before_it_is_buried(tmp_path, other):
    other.kill()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)  # dead, and still in the table of processes
    assert take_it(tmp_path) is None
    assert len(list(tmp_path.iterdir())) == 1


def test_two_playbooks_of_one_command_are_one_run(tmp_path):
    assert take_it(tmp_path) is None
    assert take_it(tmp_path) is None


def test_a_number_that_another_process_has_now_is_not_taken_for_the_old_one(tmp_path, other):
    (path,) = tmp_path.iterdir()
    path.rename(path.with_name(path.name.rpartition("-")[0] + "-1"))
    assert take_it(tmp_path) is None


def test_what_is_no_file_of_ours_stops_nobody(tmp_path, other):
    (path,) = tmp_path.iterdir()
    path.write_text("{")
    path.with_name(path.name.rpartition("-")[0]).mkdir()
    assert take_it(tmp_path) is None

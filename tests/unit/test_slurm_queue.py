"""What squeue and sacct print, read; what is done about jobs that cannot start."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
from rackmark.run.job_state import JobState, QueueError
from rackmark.run.slurm_queue import SlurmQueue, never_starts, waits_for_nodes

SQUEUE = (
    "12|rackmark:r:2n1g:1|RUNNING|None|node[1-2]|2026-11-18T10:00:00|2026-11-18T10:10:00\n"
    "13|rackmark:r:1n1g:1|NODE_FAIL|NodeDown|node3|2026-11-18T10:00:00|2026-11-18T10:00:30\n"
    "14|rackmark:r:4n1g:1|PENDING|Dependency||N/A|N/A\n"
    "15|someone-else|RUNNING|None|node4|2026-11-18T10:00:00|N/A\n"
)
NAMES = ["rackmark:r:1n1g:1", "rackmark:r:2n1g:1", "rackmark:r:4n1g:1"]


def queue(answers):
    """A Slurm that answers with these words, and keeps what it was asked."""
    asked = []

    def run(command):
        while command[0] in ("env", "-u"):
            command = command[1 if command[0] == "env" else 2 :]
        asked.append(command)
        return answers.get(command[0], (1, "", f"{command[0]}: error: Unable to contact slurm controller"))

    return SlurmQueue(run), asked


def test_jobs_by_name_in_one_query():
    slurm, asked = queue({"squeue": (0, SQUEUE, "")})
    states = slurm.states(NAMES)
    assert set(states) == set(NAMES)
    failed = states["rackmark:r:1n1g:1"]
    assert (failed.job_id, failed.state, failed.nodes, failed.finished) == (13, "NODE_FAIL", "node3", True)
    assert failed.end - failed.start == 30
    waiting = states["rackmark:r:4n1g:1"]
    assert (waiting.finished, waiting.nodes, waiting.start) == (False, None, None)
    assert len(asked) == 1
    assert f"--user={pwd.getpwuid(os.getuid()).pw_name}" in asked[0]


def test_of_several_jobs_with_one_name_the_newest_counts():
    older = "9|rackmark:r:2n1g:1|CANCELLED|None|node1|2026-11-17T10:00:00|2026-11-17T10:10:00\n"
    slurm, _ = queue({"squeue": (0, SQUEUE + older, "")})
    assert slurm.states(NAMES)["rackmark:r:2n1g:1"].job_id == 12


def test_a_slurm_that_does_not_answer_is_said_with_its_words():
    slurm, _ = queue({})
    with pytest.raises(QueueError, match=r"Slurm does not answer squeue: .*Unable to contact slurm controller"):
        slurm.states(NAMES)


def test_accounting_knows_what_slurmctld_forgot_across_midnight():
    row = "21|rackmark:r:1n1g:1|CANCELLED by 0|0:15|node1|2026-11-17T23:59:00|2026-11-18T00:01:00\n"
    slurm, asked = queue({"sacct": (0, row, "")})
    state = slurm.remembered(["rackmark:r:1n1g:1"])["rackmark:r:1n1g:1"]
    assert (state.state, state.exit_code, state.end - state.start) == ("CANCELLED by 0", "0:15", 120)
    assert "--starttime=now-30days" in asked[0]


@pytest.mark.parametrize(
    "answer",
    [(1, "", "Slurm accounting storage is disabled\n"), (127, "", "env: 'sacct': No such file or directory\n")],
)
def test_a_cluster_without_accounting_has_nothing_to_remember(answer):
    slurm, _ = queue({"sacct": answer})
    assert slurm.remembered(NAMES) == {}


def test_an_accounting_that_does_not_answer_is_asked_again():
    slurm, _ = queue({})
    with pytest.raises(QueueError, match="Slurm does not answer sacct"):
        slurm.remembered(NAMES)


def test_what_the_users_profile_says_of_jobs_does_not_reach_them(monkeypatch):
    monkeypatch.setenv("SBATCH_PARTITION", "other")
    commands = []
    SlurmQueue(lambda command: commands.append(command) or (0, "7\n", "")).submit("a", Path("job.sh"), after=None)
    assert commands[0][:3] == ["env", "-u", "SBATCH_PARTITION"]


@pytest.mark.parametrize(("output", "number"), [("12\n", 12), ("Welcome!\n13;cluster\n", 13)])
def test_the_number_of_a_job_is_found_among_what_a_site_adds(output, number):
    slurm, _ = queue({"sbatch": (0, output, "")})
    assert slurm.submit("a", Path("job.sh"), after=11) == number


def test_the_default_partition_is_the_one_that_jobs_go_to():
    slurm, _ = queue({"sinfo": (0, "debug\ngpu*\n", "")})
    assert slurm.default_partition() == "gpu"


def test_only_jobs_that_have_not_ended_are_cancelled_by_number():
    slurm, asked = queue({"squeue": (0, SQUEUE, ""), "scancel": (0, "", "")})
    slurm.cancel(slurm.states(NAMES))
    assert asked[-1] == ["scancel", "12", "14"]


def test_a_refused_job_is_said_with_slurms_last_words():
    error = "sbatch: error: Batch job submission failed: Invalid account\n"
    slurm, _ = queue({"sbatch": (1, "", error)})
    with pytest.raises(QueueError, match=r"would not take the largest job: .*Invalid account"):
        slurm.check(["--account=nobody"])


def test_waiting_that_does_not_mend_and_waiting_that_does():
    waiting = JobState(1, "a", "PENDING", "Priority")
    assert never_starts(waiting) is None
    assert "constraint" in never_starts(JobState(1, "a", "PENDING", "BadConstraints"))
    assert never_starts(JobState(1, "a", "RUNNING", "BadConstraints")) is None
    assert waits_for_nodes(JobState(1, "a", "PENDING", "ReqNodeNotAvail, UnavailableNodes:node2"))
    assert waits_for_nodes(JobState(1, "a", "PENDING", "Nodes required for job are DOWN, DRAINED or reserved"))
    assert not waits_for_nodes(JobState(1, "a", "PENDING", "Dependency"))
    assert "QOSMaxWallDurationPerJobLimit" in never_starts(JobState(1, "a", "PENDING", "QOSMaxWallDurationPerJobLimit"))
    assert never_starts(JobState(1, "a", "PENDING", "JobHeldUser")) is None  # someone wants it so


def test_nodes_that_went_out_of_service_under_a_job():
    rows = "node1|idle|none\nnode2|drained|rackmark: /tmp is full\n"
    slurm, _ = queue({"sinfo": (0, rows, "")})
    cancelled = JobState(1, "a", "CANCELLED", nodes="node[1-2]")
    assert slurm.with_node_reasons(cancelled).node_reasons == {"node2": "rackmark: /tmp is full"}
    assert slurm.with_node_reasons(JobState(1, "a", "COMPLETED", nodes="node[1-2]")).node_reasons == {}

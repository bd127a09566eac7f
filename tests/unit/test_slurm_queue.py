"""What squeue and sacct print, read; what is done about jobs that cannot start."""

from __future__ import annotations

import os
import pwd
from dataclasses import replace
from pathlib import Path

import pytest
from rackmark.run.job_state import JobState, QueueError
from rackmark.run.queues.queue import QueuedJob, Setting
from rackmark.run.queues.slurm import SlurmQueue
from rackmark.run.queues.slurm_answers import never_starts, waits_for_nodes, waits_for_somebody

SQUEUE = (
    "12|rackmark:r:2n1g:1|RUNNING|None|node[1-2]|2026-11-18T10:00:00|2026-11-18T10:10:00\n"
    "13|rackmark:r:1n1g:1|NODE_FAIL|NodeDown|node3|2026-11-18T10:00:00|2026-11-18T10:00:30\n"
    "14|rackmark:r:4n1g:1|PENDING|Dependency||N/A|N/A\n"
    "15|someone-else|RUNNING|None|node4|2026-11-18T10:00:00|N/A\n"
)
JOB = QueuedJob("a", Path("cases/a/r1"), nodes=2, devices_per_node=1)
NAMES = ["rackmark:r:1n1g:1", "rackmark:r:2n1g:1", "rackmark:r:4n1g:1"]


def queue(answers, options=None):
    """A Slurm that answers with these words, and keeps what it was asked."""
    asked = []

    def run(command):
        while command[0] in ("env", "-u"):
            command = command[1 if command[0] == "env" else 2 :]
        asked.append(command)
        return answers.get(command[0], (1, "", f"{command[0]}: error: Unable to contact slurm controller"))

    return SlurmQueue(Setting(run, options=options or {})), asked


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
    slurm = SlurmQueue(Setting(lambda command: commands.append(command) or (0, "7\n", "")))
    slurm.submit([JOB], [], one_at_a_time=False)
    assert commands[0][:3] == ["env", "-u", "SBATCH_PARTITION"]


@pytest.mark.parametrize(("output", "number"), [("12\n", 12), ("Welcome!\n13;cluster\n", 13)])
def test_the_number_of_a_job_is_found_among_what_a_site_adds(output, number):
    slurm, _ = queue({"sbatch": (0, output, "")})
    assert slurm.submit([JOB], [], one_at_a_time=False) == {"a": number}


def test_the_default_partition_is_the_one_that_jobs_go_to():
    slurm, asked = queue({"sinfo": (0, "debug\ngpu*\n", "")})
    slurm.stuck([JOB], {"a": JobState(1, "a", "PENDING", "Resources")})
    assert asked[-1][-1] == "--partition=gpu"


def test_only_jobs_that_have_not_ended_are_cancelled_by_number():
    slurm, asked = queue({"squeue": (0, SQUEUE, ""), "scancel": (0, "", "")})
    states = slurm.states(NAMES)
    slurm.cancel({**states, "ending": replace(states["rackmark:r:2n1g:1"], job_id=16, state="COMPLETING")})
    assert asked[-1] == ["scancel", "12", "14"]


def test_a_refused_job_is_said_with_slurms_last_words():
    error = "sbatch: error: Batch job submission failed: Invalid account\n"
    slurm, asked = queue({"sbatch": (1, "", error)}, {"account": "nobody"})
    with pytest.raises(QueueError, match=r"would not take the largest job: .*Invalid account"):
        slurm.check(JOB)
    assert "--account=nobody" in asked[0]


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
    assert slurm.last_word(cancelled).node_reasons == {"node2": "rackmark: /tmp is full"}
    assert slurm.last_word(JobState(1, "a", "COMPLETED", nodes="node[1-2]")).node_reasons == {}


def test_jobs_are_submitted_as_a_whole_or_not_at_all():
    numbers = iter([(0, "7\n", ""), (0, "8\n", ""), (1, "", "sbatch: error: QOSMaxSubmitJobPerUserLimit\n")])
    asked = []

    def run(command):
        words = [word for word in command if word not in ("env", "-u")]
        asked.append(words)
        return next(numbers) if "sbatch" in words else (0, "", "")

    jobs = [replace(JOB, name=name, folder=Path(name)) for name in ("a", "b", "c")]
    with pytest.raises(QueueError, match=r"Slurm refused c: .*QOSMaxSubmitJobPerUserLimit"):
        SlurmQueue(Setting(run)).submit(jobs, [], one_at_a_time=False)
    assert asked[-1] == ["scancel", "7", "8"]


def test_one_at_a_time_each_waits_for_the_one_before_and_the_first_for_what_runs():
    numbers = iter(["7", "8"])
    asked = []
    slurm = SlurmQueue(Setting(lambda command: asked.append(command) or (0, f"{next(numbers)}\n", "")))
    slurm.submit([JOB, replace(JOB, name="b")], [3, 5], one_at_a_time=True)
    assert [command[-2] for command in asked] == [
        "--dependency=singleton,afterany:5",
        "--dependency=singleton,afterany:7",
    ]


def test_a_run_that_is_stopped_meanwhile_leaves_no_jobs(tmp_path):
    (tmp_path / "stopped").touch()
    slurm = SlurmQueue(Setting(lambda _: (0, "", ""), tmp_path))
    with pytest.raises(QueueError, match="was stopped while its jobs were submitted"):
        slurm.submit([JOB], [], one_at_a_time=False)


def test_waiting_jobs_that_need_more_nodes_than_can_take_jobs():
    slurm, _ = queue({"sinfo": (0, "node1|idle\nnode2|down*\n", "")})
    waiting = {"a": JobState(1, "a", "PENDING", "Resources"), "b": JobState(2, "b", "PENDING", "Resources")}
    stuck = slurm.stuck([JOB, replace(JOB, name="b", nodes=1)], waiting)
    assert {name: each.reason for name, each in stuck.items()} == {
        "a": "it needs more nodes than the 1 that can take jobs"
    }
    assert slurm.hopeless({"a": JobState(1, "a", "PENDING", "InvalidQOS")}).keys() == {"a"}


def test_a_job_does_not_wait_for_one_of_its_name_that_is_over():
    asked = []
    slurm = SlurmQueue(Setting(lambda command: asked.append(command) or (0, "7\n", "")))
    slurm.submit([JOB], [], one_at_a_time=True, leftovers={"a"})
    slurm.submit([JOB], [5], one_at_a_time=True, leftovers={"a"})
    assert [[word for word in command if word.startswith("--dep")] for command in asked] == [
        [],
        ["--dependency=afterany:5"],
    ]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("PartitionDown", "its partition starts no jobs (PartitionDown): 'scontrol show partition'"),
        ("JobHeldAdmin", "it is held (JobHeldAdmin): 'scontrol release 7'"),
        ("job requeued in held state", "'scontrol release 7'"),
        ("SomethingNew", "'scontrol show job 7' tells more"),
    ],
)
def test_a_job_that_waits_for_somebody_says_for_what(reason, words):
    assert words in waits_for_somebody(JobState(7, "a", "PENDING", reason))
    assert waits_for_somebody(JobState(7, "a", "RUNNING", reason)) is None


@pytest.mark.parametrize(
    "reason", [None, "Priority", "Resources", "Dependency", "BeginTime", "QOSMaxJobsPerUserLimit", "AssocGrpJobsLimit"]
)
def test_a_job_that_waits_for_its_turn_is_not_stuck(reason):
    assert waits_for_somebody(JobState(7, "a", "PENDING", reason)) is None


def test_of_a_job_that_went_on_without_a_lost_node_the_last_record_counts():
    before = "12|rackmark:r:2n1g:1|RESIZING|0:0|node[1-2]|2026-11-18T10:00:00|2026-11-18T10:02:40\n"
    after = "12|rackmark:r:2n1g:1|CANCELLED by 0|0:0|node2|2026-11-18T10:02:40|2026-11-18T10:10:00\n"
    slurm, _ = queue({"sacct": (0, before + after, "")})
    (state,) = slurm.remembered(["rackmark:r:2n1g:1"]).values()
    assert (state.state, state.nodes, state.finished) == ("CANCELLED by 0", "node2", True)


def test_independent_nodes_are_not_ended_for_one_that_is_lost():
    slurm, _ = queue({})
    assert "#SBATCH --no-kill" in slurm.script_head(replace(JOB, independent=True))
    assert "#SBATCH --no-kill" not in slurm.script_head(JOB)

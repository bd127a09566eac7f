"""Following jobs: what their queue says, what their folders say, and folders that say nothing."""

from __future__ import annotations

import errno
import json
import os
import time
from dataclasses import replace

import pytest
from rackmark.node.job_record import JobRecord
from rackmark.run import following
from rackmark.run.following import follow, logs_of_running, quiet_nodes, wait_for_an_end
from rackmark.run.job_state import JobState, read_state, write_state
from rackmark.run.queues.queue import QueuedJob, Stuck

LOST = Stuck("NODES_MISSING", "it needs more nodes than the 1 that can take jobs")


class OwnQueue:
    """Says what it is told to say, and keeps what it is asked to do."""

    def __init__(self, states, remembered=None, stuck=None, hopeless=None):
        self.said, self.kept, self.waits, self.never = states, remembered or {}, stuck or {}, hopeless or {}
        self.cancelled, self.asked = [], []

    def states(self, names):
        self.asked.append(sorted(names))
        return {name: state for name, state in self.said.items() if name in names}

    def remembered(self, names):
        return {name: state for name, state in self.kept.items() if name in names}

    def hopeless(self, _states):
        return self.never

    def stuck(self, _jobs, _states):
        return self.waits

    def cancel(self, states):
        self.cancelled += states

    def last_word(self, state):
        return replace(state, node_reasons={"node1": "seen"})


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    monkeypatch.setattr(following, "LAST_WORD", 0.0)


@pytest.fixture
def jobs(tmp_path):
    for name in "abc":
        (tmp_path / name).mkdir()
    return [QueuedJob(name, tmp_path / name, nodes=2, devices_per_node=1) for name in "abc"]


def states(**words):
    return {name: JobState(place, name, word) for place, (name, word) in enumerate(words.items())}


def test_the_last_word_is_kept_once_and_not_asked_again(jobs):
    queue = OwnQueue(states(a="NODE_FAIL", b="RUNNING"), states(c="TIMEOUT"))
    found = follow(queue, jobs, [], only_ask=False)
    assert found.over == {"a", "c"}
    assert read_state(jobs[0].folder).node_reasons == {"node1": "seen"}
    write_state(jobs[0].folder, JobState(9, "a", "COMPLETED"))
    assert follow(queue, jobs, [], only_ask=False).states["a"].job_id == 9
    assert queue.asked == [["a", "b", "c"], ["b"]]


def test_a_job_that_nobody_knows_and_one_that_wrote_its_end_are_over(jobs):
    (jobs[1].folder / "end.json").write_text("{}")
    assert follow(OwnQueue(states(b="RUNNING", c="PENDING")), jobs, [], only_ask=False).over == {"a", "b"}


def write_end(job, seconds_ago, state="ok", status=0):
    end = {"state": state, "exit_status": status, "ended": time.time() - seconds_ago}
    (job.folder / "end.json").write_text(json.dumps(end))


def test_a_job_that_shows_as_running_long_after_its_end_is_over_and_its_processes_are_ended(jobs):
    write_end(jobs[0], 5)
    write_end(jobs[1], 20)
    write_end(jobs[2], 20, "node_fail", 3)
    queue = OwnQueue(states(a="RUNNING", b="RUNNING", c="RUNNING"))
    assert follow(queue, jobs, [], only_ask=True).over == {"b", "c"}
    assert queue.cancelled == []
    assert follow(queue, jobs, [], only_ask=False).over == {"b", "c"}
    assert queue.cancelled == ["b", "c"]
    assert [read_state(job.folder) and read_state(job.folder).state for job in jobs] == [None, "COMPLETED", "FAILED"]


def test_a_node_that_is_dead_keeps_its_job_from_being_over_for_a_minute_at_most(jobs):
    write_end(jobs[0], 0, "node_fail", 3)
    queue = OwnQueue(states(a="COMPLETING", b="COMPLETING", c="COMPLETING"))
    for name, seconds in (("b", 30), ("c", 70)):
        queue.said[name] = replace(queue.said[name], end=time.time() - seconds)
    assert follow(queue, jobs, [], only_ask=False).over == {"a", "c"}
    assert (queue.cancelled, read_state(jobs[0].folder)) == ([], None)
    assert read_state(jobs[2].folder).state == "NODE_FAIL"


def test_a_job_that_is_put_back_by_force_is_not_over(jobs):
    for job in jobs:
        write_end(job, 30, "cancelled", 143)
    again = replace(states(c="RUNNING")["c"], start=time.time() - 10)
    queue = OwnQueue({**states(a="COMPLETING", b="PENDING"), "c": again})
    assert follow(queue, jobs, [], only_ask=False).over == set()
    assert queue.cancelled == []


def test_jobs_that_never_start_are_cancelled_and_those_that_are_stuck_when_they_are_given_up(jobs):
    waiting = states(a="PENDING", b="PENDING", c="PENDING")
    queue = OwnQueue(waiting, stuck=dict.fromkeys("bc", LOST), hopeless={"a": "the account may not be used here"})
    found = follow(queue, jobs, ["c"], only_ask=False)
    assert queue.cancelled == ["a", "c"]
    assert (found.over, found.stuck) == ({"a", "c"}, {"b": LOST.reason})
    assert read_state(jobs[2].folder) == JobState(2, "c", LOST.word, LOST.reason, node_reasons={"node1": "seen"})


def test_who_only_asks_changes_nothing(jobs):
    queue = OwnQueue(states(a="PENDING", b="FAILED", c="RUNNING"), hopeless={"a": "never"})
    found = follow(queue, jobs, ["c"], only_ask=True)
    assert (queue.cancelled, found.over) == ([], {"b"})
    assert list(jobs[1].folder.iterdir()) == []


@pytest.fixture
def closed(jobs, monkeypatch):
    """Folders as they are to a user who may not look into them; root may, so that the system's answer is given here."""
    refused = []

    def stat(path, *arguments, real=os.stat, **options):
        if any(str(path).startswith(str(folder)) for folder in refused):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", stat)
    return refused


def test_a_folder_that_cannot_be_read_is_said_and_asked_for_again(jobs, closed):
    queue = OwnQueue(states(a="COMPLETED", b="RUNNING", c="COMPLETED"))
    closed += [job.folder for job in jobs]
    found = follow(queue, jobs, [], only_ask=False)
    assert found.over == set()
    assert found.unreadable["a"] == f"{jobs[0].folder} cannot be read: Permission denied"
    assert not found.answered
    wait_for_an_end(jobs, 0.01)
    closed.clear()
    found = follow(queue, jobs, [], only_ask=False)
    assert (found.over, found.answered, found.unreadable) == ({"a", "c"}, True, {})
    assert json.loads((jobs[0].folder / "job.json").read_text())["state"] == "COMPLETED"


def test_while_others_run_one_folder_that_cannot_be_read_ends_no_patience(jobs, closed):
    closed.append(jobs[0].folder)
    assert follow(OwnQueue(states(a="COMPLETED", b="RUNNING")), jobs, [], only_ask=False).answered
    assert not follow(OwnQueue(states(a="COMPLETED", b="FAILED")), jobs, [], only_ask=False).answered


def test_of_a_long_log_only_begin_and_end_travel(jobs):
    (jobs[0].folder / "rank-0.log").write_bytes(b"a" * 5000 + b"b" * 500_000 + b"c" * 8192)
    (jobs[1].folder / "rank-0.log").write_bytes(b"short")
    logs = logs_of_running(jobs, states(a="RUNNING", b="RUNNING", c="PENDING"))
    assert logs == {"a": (b"a" * 4096, b"c" * 8192), "b": (b"short", b"")}


def test_of_many_jobs_that_run_few_logs_travel(tmp_path):
    many = [QueuedJob(f"j{number}", tmp_path, 1, 1) for number in range(60)]
    assert len(logs_of_running(many, {job.name: JobState(1, job.name, "RUNNING") for job in many})) == 16


def test_a_node_without_samples_is_quiet_when_that_lasts_longer_than_they_are_apart(jobs):
    now = time.time()
    for job, apart in zip(jobs, (1.0, 60.0, 1.0)):
        record = JobRecord(job.name, "2n1g", 1, "slurm", 2, 1, ["true"], "cpu", 5, 60, telemetry=apart)
        (job.folder / "record.json").write_text(record.text())
        for node, age in (("node1", 5), ("node2", 50)):
            (job.folder / f"telemetry-{node}.jsonl").touch()
            os.utime(job.folder / f"telemetry-{node}.jsonl", (now - age, now - age))
    quiet = quiet_nodes(jobs, states(a="RUNNING", b="RUNNING", c="PENDING"))
    assert list(quiet) == ["a"]
    assert list(quiet["a"]) == ["node2"]
    assert quiet["a"]["node2"] > 45
    (jobs[0].folder / "record.json").unlink()  # a run of an older version
    assert quiet_nodes(jobs, states(a="RUNNING")) == {}

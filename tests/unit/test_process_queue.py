"""Jobs without Slurm: real processes, one after the other, that outlive who started them."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rackmark.run.job_state import QueueError
from rackmark.run.queues.local import LocalQueue
from rackmark.run.queues.queue import QueuedJob, Setting
from rackmark.run.queues.ssh import SshQueue
from shipped import ROLES, ship

ENGINE = ROLES / "benchmark/files/engine"


def local(run_dir):
    return LocalQueue(Setting(no_command, run_dir))


def no_command(_words):
    raise AssertionError


@pytest.fixture
def run_dir(tmp_path):
    ship(ENGINE, tmp_path / "engine")
    yield tmp_path
    queue = local(tmp_path)
    queue.cancel(queue.states(["a", "b"]))


def job(run_dir, name, script):
    folder = run_dir / name
    folder.mkdir()
    (folder / "job.sh").write_text(f"#!/bin/bash\n{script}\n")
    return QueuedJob(name, folder, nodes=1, devices_per_node=1)


def words(queue, names):
    return {name: state.state for name, state in queue.states(names).items()}


def wait_for(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_jobs_run_one_after_the_other_and_a_failure_stops_none(run_dir):
    queue = local(run_dir)
    jobs = [job(run_dir, "a", "echo hello; exit 3"), job(run_dir, "b", "true")]
    queue.submit(jobs)
    wait_for(lambda: all(state.finished for state in queue.states(["a", "b"]).values()))
    states = queue.states(["a", "b"])
    assert (states["a"].state, states["a"].exit_code, states["b"].state) == ("FAILED", "3", "COMPLETED")
    assert states["a"].end <= states["b"].start
    assert (run_dir / "a/slurm.log").read_text() == "hello\n"


def test_what_waits_and_what_runs(run_dir):
    queue = local(run_dir)
    queue.submit([job(run_dir, "a", "exec sleep 60"), job(run_dir, "b", "true")])
    wait_for(lambda: words(queue, ["a", "b"]) == {"a": "RUNNING", "b": "PENDING"})
    with pytest.raises(QueueError, match="are being run already"):
        queue.submit([])


def test_stopping_ends_the_running_job_and_cancels_the_rest(run_dir):
    queue = local(run_dir)
    queue.submit(
        [
            job(run_dir, "a", f"echo $$ >{run_dir}/new; mv {run_dir}/new {run_dir}/pid; exec sleep 60"),
            job(run_dir, "b", "touch begun"),
        ]
    )
    wait_for((run_dir / "pid").exists)
    queue.cancel({})
    assert words(queue, ["a", "b"]) == {"a": "RUNNING", "b": "PENDING"}
    queue.cancel(queue.states(["a", "b"]))
    assert words(queue, ["a", "b"]) == {"a": "CANCELLED", "b": "CANCELLED"}
    assert not Path(f"/proc/{(run_dir / 'pid').read_text().strip()}").exists()
    assert not (run_dir / "b/begun").exists()


def test_jobs_whose_runner_died_are_not_running(run_dir):
    queue = local(run_dir)
    queue.submit([job(run_dir, "a", "exec sleep 60"), job(run_dir, "b", "true")])
    wait_for(lambda: words(queue, ["a"]) == {"a": "RUNNING"})
    record = json.loads((run_dir / "queue.json").read_text())
    (run_dir / "queue.json").write_text(json.dumps({**record, "began": 1}))  # as if its number were used again
    assert words(queue, ["a", "b"]) == {"a": "NODE_FAIL", "b": "CANCELLED"}
    (run_dir / "queue.json").write_text(json.dumps(record))


def test_missing_jobs_can_run_later(run_dir):
    queue = local(run_dir)
    first, second = job(run_dir, "a", "true"), job(run_dir, "b", "true")
    queue.submit([first])
    wait_for(lambda: words(queue, ["a"]) == {"a": "COMPLETED"})
    wait_for(lambda: not queue._alive(queue._read()))
    queue.submit([second])
    wait_for(lambda: words(queue, ["a", "b"]) == {"a": "COMPLETED", "b": "COMPLETED"})


def test_jobs_of_two_runs_alternate(tmp_path):
    """Whoever waits comes before the next job of the run whose turn it was."""
    queues, jobs = [], []
    for name in ("one", "other"):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        ship(ENGINE, folder / "engine")
        queues.append(local(folder))
        jobs.append([job(folder, f"{name}{number}", "sleep 1.5") for number in range(3)])
    for queue, of_run in zip(queues, jobs):
        queue.submit(of_run)
    names = [[one.name for one in of_run] for of_run in jobs]

    def states():
        return [state for queue, of_run in zip(queues, names) for state in queue.states(of_run).values()]

    wait_for(lambda: all(state.finished for state in states()))
    order = [state.name[:-1] for state in sorted(states(), key=lambda state: state.start)]
    assert order in (["one", "other"] * 3, ["other", "one"] * 3)  # whose runner was there first


def test_a_job_over_ssh_knows_its_hosts(run_dir):
    queue = SshQueue(Setting(no_command, run_dir, ["node1", "node2", "node3"]))
    two = replace(job(run_dir, "a", "true"), nodes=2)
    queue.submit([two])
    wait_for(lambda: words(queue, ["a"]) == {"a": "COMPLETED"})
    assert queue.states(["a"])["a"].nodes == "node1 node2"


def test_data_that_is_not_on_this_machine_is_said_before_anything_is_built(tmp_path):
    queue, asked = local(tmp_path), QueuedJob("a", tmp_path, nodes=1, devices_per_node=1, data=str(tmp_path / "gone"))
    queue.check(replace(asked, data=str(tmp_path)))
    queue.check(replace(asked, data=""))
    queue.check(replace(asked, data="synthetic"))
    with pytest.raises(QueueError, match=r"data=.*/gone is not there on this machine, .*: give the absolute path"):
        queue.check(asked)

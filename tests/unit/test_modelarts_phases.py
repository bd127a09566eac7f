"""What the phases of a job in ModelArts mean, and what becomes of trainings that leave files."""

from __future__ import annotations

import json

import pytest
from rackmark.judging.judge_run import judge_run
from rackmark.modelarts.phases import exit_codes, job_state, limit_in_hours, message_of
from rackmark.run.job_state import JobState, write_state
from rackmark.run.manifest import read_manifest

HOURS = 2


def job(phase, seconds=60, statuses=()):
    return {
        "metadata": {"id": "uuid-1", "name": "rackmark-r-1n8g-1"},
        "status": {
            "phase": phase,
            "secondary_phase": phase,
            "start_time": 1_700_000_000_000,
            "duration": seconds * 1000,
            "task_statuses": list(statuses),
        },
        "spec": {"auto_stop": {"time_unit": "HOURS", "duration": HOURS}},
    }


@pytest.mark.parametrize(
    ("phase", "state", "finished"),
    [
        ("Creating", "PENDING", False),
        ("Pending", "PENDING", False),
        ("Running", "RUNNING", False),
        ("Terminating", "COMPLETING", False),
        ("Completed", "COMPLETED", True),
        ("Failed", "FAILED", True),
        ("Terminated", "CANCELLED", True),
        ("Abnormal", "NODE_FAIL", True),
        ("Moving", "PENDING", False),
        ("", "PENDING", False),
    ],
)
def test_phases(phase, state, finished):
    found = job_state("rackmark:r:1n8g:1", job(phase))
    assert (found.job_id, found.state, found.finished) == ("uuid-1", state, finished)
    assert found.end == (1_700_000_060.0 if finished else None)


def test_an_unknown_phase_is_named_and_a_missing_one_said():
    assert job_state("a", job("Moving")).reason == "ModelArts says Moving, a phase that is not known here"
    assert job_state("a", job("")).reason == "ModelArts says no phase"
    assert job_state("a", {"status": None}).state == "PENDING"


def test_a_job_that_its_limit_ended_is_told_from_one_that_was_stopped():
    assert job_state("a", job("Terminated", seconds=HOURS * 3600)).state == "TIMEOUT"
    assert job_state("a", job("Terminated", seconds=HOURS * 3600 - 60)).state == "CANCELLED"


def test_limits_are_whole_hours_and_never_less_than_asked():
    assert [limit_in_hours(minutes) for minutes in (1, 60, 61, 480)] == [1, 1, 2, 8]


def test_what_became_of_workers():
    statuses = [{"task": "worker-0", "exit_code": 0}, {"task": "worker-1", "exit_code": 3, "message": "see\nits log"}]
    assert exit_codes(job("Failed", statuses=statuses)) == {0: 0, 1: 3}
    assert message_of(job("Failed", statuses=statuses)) == "see its log"
    assert job_state("a", job("Failed", statuses=statuses)).exit_code == "3"
    assert exit_codes({}) == {}


@pytest.fixture
def run(tmp_path):
    """A run of one repeat, with what its job left."""

    def made(case, files, state="COMPLETED", end=None, logs=None, single=False):
        nodes, devices = int(case[0]), int(case[2:-1])
        sources = {name: f"stated.{name}" for name in ("throughput", "accuracy")}
        planned = {"case": case, "nodes": nodes, "devices_per_node": devices, "world_size": nodes * devices}
        manifest = {
            "schema": "rackmark.manifest/1",
            "run_id": "r",
            "workload": "modelarts",
            "title": "t",
            "framework": "ais-bench",
            "unit": "samples/s",
            "preset": "full",
            "scaling": "weak",
            "device": "npu",
            "dialect": "rackmark",
            "warmup": 0,
            "steps": 0,
            "settings": {"single_server": single},
            "data": "synthetic",
            "baseline": None,
            "ranks": "job",
            "meet": "none",
            "measure": "stated",
            "result": "ais-bench",
            "measures": {name: {"unit": "u", "better": "higher", "from": source} for name, source in sources.items()},
            "cases": [{**planned, "batch_per_device": None, "precision": None, "repeats": 1}],
        }
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
        folder = tmp_path / "cases" / case / "r1"
        for name, content in files.items():
            path = folder / "out" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        folder.mkdir(parents=True, exist_ok=True)
        for number, text in (logs or {}).items():
            (folder / f"worker-{number}.log").write_text(text)
        write_state(folder, JobState("uuid-1", f"rackmark:r:{case}:1", state))
        (folder / "end.json").write_text(json.dumps(end or {"state": "ok" if state == "COMPLETED" else "failed"}))
        (judged,) = judge_run(tmp_path, read_manifest(tmp_path))
        return judged.result

    return made


def rates(count, folder="", size=None):
    files = {f"{folder}throughput_{rank}.json": repr(100 + rank / 8) for rank in range(count)}
    return files | ({f"{folder}ranksize.json": str(size)} if size else {})


def test_ranks_are_added_up_and_servers_that_train_alone_averaged(run, tmp_path):
    whole = run("2n8g", {**rates(16, size=16), "accuracy.json": "0.75"})
    assert (whole.state, whole.throughput, whole.accuracy) == ("ok", sum(100 + rank / 8 for rank in range(16)), 0.75)
    assert whole.measures == {"throughput": whole.throughput, "accuracy": 0.75}


def test_the_published_mean_comes_out(run):
    """Of sums that are what ais-bench printed for each server."""
    files = {}
    for server, figure in enumerate((14147.314993295107, 14155.048461692913)):
        files |= {f"{server}/throughput_{rank}.json": repr(figure / 8) for rank in range(8)}
    result = run("2n8g", files, single=True)
    assert (result.state, result.throughput) == ("ok", 14151.181727494011)
    assert result.accuracy is None
    assert "accuracy" in result.missing


@pytest.mark.parametrize(
    ("files", "single", "state", "words"),
    [
        ({}, False, "no_log", "left no throughput_<rank>.json"),
        (rates(15, size=16), False, "no_log", "no throughput file of rank 15: there were 16 ranks"),
        ({**rates(16, size=16), "throughput_3.json": "fast"}, False, "no_data", "throughput_3.json does not hold"),
        (rates(8, size=8), False, "wrong_world_size", "ranksize.json says 8 ranks, there should be 16"),
        (rates(8, "0/"), True, "no_log", "Server 1 of 2 left no throughput files"),
        ({**rates(8, "0/"), **rates(7, "1/")}, True, "no_log", "Server 1 has no throughput file of rank 7"),
        ({**rates(8, "0/"), **rates(8, "1/")}, False, "wrong_world_size", "Every server trained for itself"),
        (rates(16, size=16), True, "wrong_world_size", "All servers trained together"),
        ({**rates(16, "a/", 16), **rates(16, "b/", 16)}, False, "incomplete", "both hold results"),
    ],
)
def test_files_that_do_not_fit_give_no_number(run, files, single, state, words):
    result = run("2n8g", files, single=single)
    assert (result.state, result.throughput) == (state, None)
    assert words in result.reason


def test_results_may_lie_one_folder_deeper(run):
    assert run("1n2g", rates(2, "V0001/", 2)).throughput == 200.125


@pytest.mark.parametrize(
    ("state", "end", "logs", "expected", "words"),
    [
        (
            "FAILED",
            {"exit_codes": {"0": 137, "1": 3}},
            {0: "a\n", 1: "b\nlast one\n"},
            "incomplete",
            "last line: last one",
        ),
        ("FAILED", {"exit_codes": {}, "reason": "no image", "by": "ModelArts"}, {}, "launch_failed", "says: no image."),
        ("FAILED", {}, {0: "ValueError: no data\nbye\n"}, "incomplete", "The log says: ValueError: no data"),
        ("NODE_FAIL", {}, {}, "node_fail", "A node failed"),
        ("CANCELLED", {}, {}, "cancelled", "The job was cancelled."),
        ("TIMEOUT", {}, {}, "timeout", "time limit"),
        ("FAILED", {}, {0: "RuntimeError: NPU out of memory\n"}, "oom", "Memory ran out"),
    ],
)
def test_ends_that_are_not_good(run, state, end, logs, expected, words):
    result = run("2n8g", rates(16, size=16), state=state, end={"state": "failed", **end}, logs=logs)
    assert (result.state, result.throughput) == (expected, None)
    assert words in result.reason
    if end.get("exit_codes"):
        assert "Worker 1 ended with exit code 3" in result.reason

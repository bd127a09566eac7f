from __future__ import annotations

import json

from rackmark.run.job_state import JobState
from rackmark.run.run_progress import progress

PLAN = {"dialect": "rackmark", "unit": "samples/s", "warmup": 2, "steps": 8}


def job(case, folder, nodes=1):
    name = f"rackmark:r:{case}:1"
    return {"name": name, "case": case, "repeat": 1, "nodes": nodes, "devices_per_node": 1, "folder": str(folder)}


def step(number, seconds=0.5):
    event = {"event": "step", "time": 1.0, "step": number, "samples": 8, "seconds": seconds, "loss": 7.0}
    return f"RACKMARK {json.dumps(event)}\n"


def state(job, word, start=None, end=None, reason=None):
    return JobState(1, job["name"], word, reason, start=start, end=end)


def test_the_running_job_shows_the_rate_of_all_ranks_and_the_time_left(tmp_path):
    (tmp_path / "rank-0.log").write_text(f'noise\n{step(2)}{step(3)}RACKMARK {{"event": "step", "st')
    jobs = [job("2n1g", tmp_path, nodes=2), job("1n1g", tmp_path / "none"), job("4n1g", tmp_path / "none")]
    states = {
        jobs[0]["name"]: state(jobs[0], "RUNNING"),
        jobs[1]["name"]: state(jobs[1], "COMPLETED", 100.0, 130.0),
        jobs[2]["name"]: state(jobs[2], "PENDING", reason="Dependency"),
    }
    shown = progress(jobs, PLAN, states)
    assert shown == "1 of 3 jobs done; 2n1g r1 step 3/10, 32 samples/s; 1 waiting; about 34 s left"


def test_no_time_is_promised_before_anything_is_known(tmp_path):
    jobs = [job("1n1g", tmp_path / "none"), job("2n1g", tmp_path / "none")]
    states = {jobs[0]["name"]: state(jobs[0], "RUNNING"), jobs[1]["name"]: state(jobs[1], "PENDING")}
    assert progress(jobs, PLAN, states) == "0 of 2 jobs done; 1n1g r1 starting; 1 waiting"


def test_slurms_reason_is_shown_where_everything_waits(tmp_path):
    jobs = [job("1n1g", tmp_path / "none")]
    states = {jobs[0]["name"]: state(jobs[0], "PENDING", reason="Resources")}
    assert progress(jobs, PLAN, states) == "0 of 1 jobs done; 1 waiting (Resources)"


def test_a_long_log_is_not_read_as_a_whole(tmp_path):
    lines = "".join(step(number) for number in range(1, 2000))
    (tmp_path / "rank-0.log").write_text(lines + step(2000, seconds=0.25))
    jobs = [job("1n1g", tmp_path)]
    plan = {**PLAN, "steps": 2498}
    assert "step 2000/2500, 32 samples/s" in progress(jobs, plan, {jobs[0]["name"]: state(jobs[0], "RUNNING")})

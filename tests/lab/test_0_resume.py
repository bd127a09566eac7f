"""Runs that are resumed, as plain processes: what is gone is made anew, and nothing that is given is ignored."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml
from lab.local_runs import COUNTING, Runs


@pytest.fixture
def runs(tmp_path):
    yield (made := Runs(tmp_path))
    for run in (tmp_path / "shared/runs").glob("*"):
        made.play("stop.yml", run_id=run.name)


@pytest.fixture
def failed(runs):
    """A run whose first repeat is ok and whose second is gone."""
    done = runs.play(repeats=2)
    assert done.returncode == 0, done.stdout
    shutil.rmtree(runs.shared() / "cases/1n1g/r2")
    return runs


def test_a_repeat_whose_folder_is_gone_is_run_again(failed):
    again = failed.play(run_id=failed.shared().name)
    assert again.returncode == 0, again.stdout
    assert "Kept, as they are ok or still running: 1 of 2 jobs." in again.stdout
    assert [run["state"] for run in failed.repeats()] == ["ok", "ok"]


def test_limits_can_be_raised_and_nothing_else_that_is_given_is_ignored(failed):
    run_id = failed.shared().name
    for given, words in (
        ({"minutes": 4}, "minutes=4 is less than the 5 of"),
        ({"preset": "full"}, "leave out preset=full"),
        ({"benchmark_settings": {"seconds": 1}}, 'without benchmark_settings={"seconds": 1}: leave that out'),
        ({"benchmark_threads": 3}, "without benchmark_threads=3: leave that out"),
    ):
        refused = failed.play(run_id=run_id, **given)
        assert refused.returncode != 0
        assert words in refused.stdout
    again = failed.play(run_id=run_id, minutes=9, stalled_after=90, benchmark_threads=0)
    assert again.returncode == 0, again.stdout
    records = [json.loads((failed.latest() / f"cases/1n1g/r{number}/record.json").read_text()) for number in (1, 2)]
    assert [(record["minutes"], record["stalled_after"]) for record in records] == [(5, 60), (9, 90)]
    assert json.loads((failed.latest() / "manifest.json").read_text())["minutes"] == 9


def test_two_terminals_that_resume_a_run_submit_its_jobs_once(failed):
    run_id = failed.shared().name
    with ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda _: failed.play(run_id=run_id), range(2)))
    assert [done.returncode for done in both] == [0, 0], "\n".join(done.stdout for done in both)
    assert not list((failed.shared() / "cases/1n1g/r2").glob("attempt-*"))
    assert (failed.shared() / "submissions").read_text() == "2\n"
    assert [run["state"] for run in failed.repeats()] == ["ok", "ok"]


def test_an_environment_that_is_gone_is_made_anew(runs, tmp_path):
    workload = tmp_path / "counting"
    shutil.copytree(COUNTING, workload)
    content = yaml.safe_load((workload / "workload.yml").read_text())
    content["frameworks"]["python"]["environment"] = {"package": "six", "requirements": {"cpu": ["six==1.16.0"]}}
    (workload / "workload.yml").write_text(yaml.safe_dump(content))
    first = runs.play(benchmark_workload=str(workload), repeats=1, benchmark_flags=["--fail", "exit"])
    assert first.returncode != 0
    assert [run["state"] for run in runs.repeats()] == ["incomplete"]
    (environment,) = (tmp_path / "shared/envs").glob("counting-python-*/")
    shutil.rmtree(environment)
    runs.play(benchmark_workload=str(workload), run_id=runs.shared().name)
    assert [run["state"] for run in runs.repeats()] == ["incomplete"]  # and no preflight_failed
    assert environment.is_dir()

"""Results that cannot be written are known before jobs start; if that comes later, nothing is lost."""

from __future__ import annotations

import subprocess

import pytest
from lab.local_runs import ROOT, Runs, fill, on_a_small_disk


@pytest.fixture
def runs(tmp_path):
    """Results go to a small disk of their own."""
    with on_a_small_disk(Runs(tmp_path), tmp_path / "results", 60) as runs:
        yield runs


def remount(folder, how="ro"):
    subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [(remount, "Read-only file system. Make it writable"), (fill, "No space left on device. Make room for 50 MB")],
)
def test_a_folder_that_takes_no_results_is_named_before_a_job_starts(runs, spoil, why):
    spoil(runs.results)
    done = runs.play()
    assert done.returncode != 0
    assert f"Results cannot be written to {runs.results}: {why}" in done.stdout
    assert ", or choose another folder with -e benchmark_runs_dir=DIR. Nothing was started." in done.stdout
    assert not list(runs.folder.glob("shared/runs/*"))
    assert runs.play(plan=True).returncode == 0


@pytest.mark.parametrize(("spoil", "why"), [(remount, "Read-only file system"), (fill, "No space left on device")])
def test_a_folder_that_takes_no_results_any_more_loses_none(runs, spoil, why):
    playbook = runs.begin(steps=80, repeats=1)
    spoil(runs.results)
    assert playbook.wait(timeout=60) != 0
    run_id = runs.shared().name
    done = runs.play(run_id=run_id)
    assert done.returncode != 0
    assert f"cannot be written: {why}. Nothing is lost: all that the jobs left is in {runs.shared()} on" in done.stdout
    assert f"run again with -e run_id={run_id}" in done.stdout

    remount(runs.results, "rw")
    (runs.results / "dump").unlink(missing_ok=True)
    again = runs.play(run_id=run_id)
    assert again.returncode == 0, again.stdout
    assert "Kept, as they are ok or still running: 1 of 1 jobs." in again.stdout
    assert [found["state"] for found in runs.repeats()] == ["ok"]


def test_a_report_that_cannot_be_written_names_the_way_to_write_it(runs):
    assert runs.play(repeats=1).returncode == 0
    here = runs.latest()
    (here / "report.html").unlink()
    remount(runs.results)
    report = ["ansible-playbook", "playbooks/report.yml", "-i", "/dev/null", "-e", f"benchmark_runs_dir={runs.results}"]
    done = subprocess.run(report, cwd=ROOT, env=runs.environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert f"The report cannot be written to {here}: Read-only file system. Nothing is lost" in done.stdout
    assert f"playbooks/report.yml -e run_ids={here.name} -e benchmark_runs_dir={runs.results}" in done.stdout

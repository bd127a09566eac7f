"""A disk that is full, before a run or in the middle of it: it is said, nothing runs on, and room is all it takes."""

from __future__ import annotations

import re

import pytest
from lab.local_runs import Runs, fill, on_a_small_disk

ENOUGH_MB = 280  # a job asks for 200


@pytest.fixture
def runs(tmp_path):
    """Runs on a small disk of their own; their results go elsewhere."""
    with on_a_small_disk(Runs(tmp_path), tmp_path / "shared", ENOUGH_MB) as runs:
        yield runs


def make_room(runs):
    (runs.folder / "shared/dump").unlink()


def test_a_disk_that_fills_up_in_the_middle(runs):
    playbook = runs.begin(repeats=2, steps=80)
    fill(runs.folder / "shared")
    assert playbook.wait(timeout=60) != 0
    assert runs.processes() == {}
    run_id = runs.shared().name
    assert runs.latest().name == run_id
    first, second = runs.repeats()
    assert (first["state"], second["state"]) == ("incomplete", "launch_failed")
    for found in (first, second):
        assert found["throughput"] is None
        assert re.search(r"Only 0 MB (are|were) free", found["reason"])
    assert '"step"' in (runs.latest() / "cases/1n1g/r1/rank-0.log").read_text()

    make_room(runs)
    again = runs.play(run_id=run_id)
    assert again.returncode == 0, again.stdout
    assert [found["state"] for found in runs.repeats()] == ["ok", "ok"]
    assert (runs.latest() / "cases/1n1g/r1/attempt-1/rank-0.log").exists()


@pytest.mark.parametrize("left", [0, 20_000])
def test_a_disk_without_room_for_the_scripts(runs, left):
    fill(runs.folder / "shared", leave=left)
    done = runs.play(repeats=1)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    assert f"0 MB are free in {runs.folder}/shared/runs. Free some space and run again." in done.stdout
    assert list(runs.folder.glob("shared/runs/*")) == []


def test_a_disk_with_too_little_room_for_a_job(runs):
    fill(runs.folder / "shared", leave=100 * 2**20)
    done = runs.play(repeats=1)
    assert done.returncode != 0
    (found,) = runs.repeats()
    assert found["state"] == "preflight_failed"
    assert re.search(r"shared/runs/\S+ has 9\d MB free, and a job needs 200 MB", found["reason"])

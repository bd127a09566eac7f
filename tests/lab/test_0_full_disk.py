"""A disk that is full, before a run or in the middle of it: it is said, nothing runs on, and room is all it takes."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from lab.local_runs import Runs

ENOUGH_MB = 280  # a job asks for 200


@pytest.fixture
def runs(tmp_path):
    """Runs on a small disk of their own; their results go elsewhere."""
    shared = tmp_path / "shared"
    shared.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ENOUGH_MB}m", "small", str(shared)], check=True)
    made = Runs(tmp_path)
    try:
        yield made
        if made.processes():
            made.play("stop.yml", run_id=made.shared().name)
    finally:
        subprocess.run(["umount", str(shared)], check=True)


@pytest.fixture
def fill(runs):
    def fill(leave=0):
        """A file that takes all room but so many bytes."""
        with (runs.folder / "shared/dump").open("wb") as file:
            usage = os.statvfs(runs.folder / "shared")
            os.posix_fallocate(file.fileno(), 0, usage.f_bavail * usage.f_frsize - leave)

    return fill


def make_room(runs):
    (runs.folder / "shared/dump").unlink()


def test_a_disk_that_fills_up_in_the_middle(runs, fill):
    playbook = runs.begin(repeats=2, steps=80)
    fill()
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
def test_a_disk_without_room_for_the_scripts(runs, fill, left):
    fill(leave=left)
    done = runs.play(repeats=1)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    assert f"0 MB are free in {runs.folder}/shared/runs. Free some space and run again." in done.stdout
    assert list(runs.folder.glob("shared/runs/*")) == []


def test_a_disk_with_too_little_room_for_a_job(runs, fill):
    fill(leave=100 * 2**20)
    done = runs.play(repeats=1)
    assert done.returncode != 0
    (found,) = runs.repeats()
    assert found["state"] == "preflight_failed"
    assert re.search(r"shared/runs/\S+ has 9\d MB free, and a job needs 200 MB", found["reason"])

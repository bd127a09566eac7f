"""Driving runs of plain processes on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
COUNTING = ROOT / "tests/workloads/counting"


class Runs:
    playbook = "run.yml"
    seconds_to_run, seconds_to_begin = 120, 60

    def __init__(self, folder):
        self.folder = folder
        self.results = folder / "results"

    def command(self, playbook, **variables):
        given = {
            "benchmark_workload": str(COUNTING),
            "benchmark_launcher": "local",
            "benchmark_dir": str(self.folder / "shared"),
            "benchmark_runs_dir": str(self.results),
            "preset": "lab",
            **variables,
        }
        return ["ansible-playbook", f"playbooks/{playbook}", "-i", "/dev/null", "-e", json.dumps(given)]

    def environment(self):
        return {**os.environ, "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(self.folder / "facts"), "COLUMNS": "400"}

    def play(self, playbook=None, options=(), **variables):
        return subprocess.run(
            [*self.command(playbook or self.playbook, **variables), *options],
            cwd=ROOT,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=self.seconds_to_run,
        )

    def begin(self, playbook="run.yml", **variables):
        """A run in the background; comes back when its first rank has done a step."""
        process = subprocess.Popen(
            self.command(playbook, **variables),
            cwd=ROOT,
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + self.seconds_to_begin
        while not any('"step"' in log.read_text() for log in self.folder.glob("shared/runs/*/cases/*/r1/rank-0.log")):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        return process

    def shared(self):
        (run,) = (self.folder / "shared/runs").iterdir()
        return run

    def latest(self):
        return (self.results / "latest").resolve()

    def summary(self):
        return json.loads((self.latest() / "summary.json").read_text())

    def repeats(self):
        (case,) = self.summary()["cases"]
        return case["runs"]

    def processes(self):
        """What still runs on behalf of these runs: numbers and command lines."""
        found = {}
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(self.folder) in line and "ansible" not in line:
                found[int(path.parent.name)] = line
        return found

    def ranks(self):
        """Numbers of the training processes themselves."""
        programs = ("rank.py", "node.py", "job.py", "queue_runner.py", "sampler.py")
        return [pid for pid, line in self.processes().items() if not any(program in line for program in programs)]


class Suites(Runs):
    def command(self, playbook, **variables):
        """Each run of a suite names its workload itself. A variable that is None is not given."""
        *words, given = super().command(playbook, **{"benchmark_workload": None, **variables})
        common = {name: value for name, value in json.loads(given).items() if value is not None}
        return [*words, json.dumps(common)]

    def record(self):
        (path,) = (self.folder / "shared/suites").glob("*/record.json")
        return json.loads(path.read_text())

    def page(self):
        return json.loads((self.folder / "suites" / self.record()["suite_id"] / "suite.json").read_text())


@contextmanager
def on_a_small_disk(runs, folder, mb):
    """Runs of which one folder is a disk of its own; whatever still runs is ended before it goes."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mb}m", "small", str(folder)], check=True)
    try:
        yield runs
        if runs.processes():
            runs.play("stop.yml", run_id=runs.shared().name)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder, leave=0):
    """A file that takes all room of a disk but so many bytes."""
    with (folder / "dump").open("wb") as file:
        usage = os.statvfs(folder)
        os.posix_fallocate(file.fileno(), 0, usage.f_bavail * usage.f_frsize - leave)


def wait_for(holds, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)

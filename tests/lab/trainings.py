"""Driving training scripts of PyTorch: ranks on this machine's loopback, in the environment that a run would have."""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from host_packages import install
from rackmark.dialects.catalog import known_names
from rackmark.run.workload import workload_from
from rackmark.run.workload_folder import read_folder

ROOT = Path(__file__).parents[2]
RESNET50 = ROOT / "workloads/resnet50"
ENVIRONMENTS = ROOT / ".cache/test-envs"
EVENT = "RACKMARK "
SECONDS_TO_BUILD = 1800  # on a busy machine, with what is compiled


def needs_of(workload):
    return yaml.safe_load((workload / "workload.yml").read_text())["frameworks"]["pytorch"]["environment"]


@functools.cache
def environment(workload=RESNET50, framework="pytorch"):
    """The interpreter of the environment that a run would build from the workload's pins."""
    software = workload_from(read_folder(workload, dict.fromkeys(known_names()))).frameworks[framework].software
    asked = {
        "directory": str(ENVIRONMENTS),
        "name": f"{workload.name}-{framework}",
        "requirements": software.on("cpu")["requirements"],
        "cpu_wheel": "torch" if framework == "pytorch" else "",
        "build": software.on("cpu")["build"],
    }
    if asked["build"] and (lacking := _environment(asked, "--check").get("lacking")):
        install(*lacking)
    built = _environment(asked)
    assert framework != "pytorch" or any(package.startswith("torch==") for package in built["packages"]), (
        "no CPU build of torch was found"
    )
    return built["python"]


def _environment(asked, *options):
    command = ["ansible", "localhost", "-i", "/dev/null", "-m", "benchmark_environment", "-a", json.dumps(asked)]
    done = subprocess.run(
        [*command, *options], cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS_TO_BUILD
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.partition("=>")[2])


class Training:
    def __init__(self, python, script, folder):
        self.python, self.script, self.folder = python, script, folder
        self.processes = []

    def start(self, *flags, ranks=2, **environment):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.kill()
        self.processes = [
            self._start_rank(rank, flags, {"WORLD_SIZE": ranks, "MASTER_PORT": port, **environment})
            for rank in range(ranks)
        ]

    def _start_rank(self, rank, flags, environment):
        given = {
            "RANK": rank,
            "LOCAL_RANK": rank,
            "MASTER_ADDR": "127.0.0.1",
            "GLOO_SOCKET_IFNAME": "lo",
            "OMP_NUM_THREADS": 1,
            **environment,
        }
        command = [self.python, str(self.script), *map(str, flags)]
        env = {**os.environ, **{name: str(value) for name, value in given.items()}}
        with self._log(rank).open("w") as log:
            return subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT)

    def _log(self, rank):
        return self.folder / f"rank-{rank}.log"

    def ended(self):
        return [process.wait(timeout=300) for process in self.processes]

    def run(self, *flags, **options):
        """Records of each rank of a training that goes well."""
        self.start(*flags, **options)
        statuses = self.ended()
        assert set(statuses) == {0}, self.said(statuses.index(max(statuses)))
        return [self.records(rank) for rank in range(len(self.processes))]

    def said(self, rank=0):
        return self._log(rank).read_text()

    def records(self, rank=0, event=None):
        lines = [line for line in self.said(rank).splitlines() if line.startswith(EVENT) and line.endswith("}")]
        records = [json.loads(line[len(EVENT) :]) for line in lines]
        return [record for record in records if event in (None, record["event"])]

    def wait_for(self, event):
        deadline = time.monotonic() + 60
        while not self.records(event=event):
            assert time.monotonic() < deadline and self.processes[0].poll() is None, self.said()
            time.sleep(0.02)

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()


def losses(records):
    return {record["step"]: record["loss"] for record in records if record["event"] == "step"}


def perf_log(said):
    """FlagPerf's records in what a rank said."""
    return [json.loads(line.partition(" ")[2]) for line in said.splitlines() if line.startswith("[PerfLog] ")]


@pytest.fixture(scope="session")
def python():
    return environment()


@pytest.fixture
def training(python, tmp_path, request):
    """Of the script that the file of tests names as SCRIPT."""
    training = Training(python, request.module.SCRIPT, tmp_path)
    yield training
    training.kill()

"""Runs the engine as a job does, with a small program in the place of a training."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rackmark.node.job_record import FILE, JobRecord
from shipped import ROLES, ship

ENGINE = ROLES / "benchmark/files/engine"

# Prints three steps; a rank named with --fail, --hang, --stop or --linger does that after the second one.
TRAINING = """
import json, os, signal, sys, time
rank = int(os.environ["RANK"])
print("RACKMARK " + json.dumps({"event": "start", "time": time.time(), **{
    name: os.environ.get(name) for name in (
        "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT",
        "OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")}}), flush=True)
def counts(rank):
    log = f"rank-{rank}.log"
    return os.path.exists(log) and '"step": 2' in open(log).read()
what = dict(word[2:].split("=") for word in sys.argv[1:] if "=" in word)
for step in (1, 2, 3):
    if step == 3:
        if what.get("fail") == str(rank):
            while not all(counts(other) for other in range(int(os.environ["WORLD_SIZE"]))):
                time.sleep(0.02)
            sys.exit("ValueError: the data ends here")
        if what.get("stop") == str(rank):
            os.kill(os.getpid(), signal.SIGSTOP)
        if what.get("hang") in (str(rank), "all"):
            time.sleep(600)
        if "fail" in what or "stop" in what:
            time.sleep(600)  # the others wait for the one
    print("RACKMARK " + json.dumps({"event": "step", "step": step, "samples": 1, "seconds": 0.01}), flush=True)
print("RACKMARK " + json.dumps({"event": "end", "steps": 3}), flush=True)
"""


class Run:
    """One job in its folder. `mark` is in the arguments of every rank's program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "run" / "cases" / "1n2g" / "r1"
        self.folder.mkdir(parents=True)
        self.engine = ship(ENGINE, folder / "run" / "engine")
        self.training = folder / "training.py"
        self.training.write_text(TRAINING)
        self.tools = folder / "bin"
        self.tools.mkdir()
        self.output = ""
        self.mark = f"--mark={folder}"
        self.environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}"}
        for name in [name for name in self.environment if name.startswith(("SLURM", "CUDA_", "ASCEND_"))]:
            del self.environment[name]

    def record(self, *behaviour: str, **fields: Any) -> None:
        """Writes down what the job is to do."""
        program = [sys.executable, str(self.training), self.mark, *behaviour]
        usual = {"launcher": "local", "nodes": 1, "devices_per_node": 2, "device": "cpu", "program": program}
        limits = {"minutes": 1, "stalled_after": 60, "dialect": "rackmark"}
        record = JobRecord(**{"name": "rackmark:t:1n2g:1", "case": "1n2g", "repeat": 1, **usual, **limits, **fields})
        (self.folder / FILE).write_text(record.text())

    def command(self, *behaviour: str, **fields: Any) -> list[str]:
        self.record(*behaviour, **fields)
        return [sys.executable, str(self.engine / "job.py")]

    def begin(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def __call__(self, *behaviour: str, **fields: Any) -> int:
        job = self.begin(self.command(*behaviour, **fields))
        self.output = job.communicate(timeout=60)[0].decode()
        return job.returncode

    def tool(self, name: str, program: str) -> None:
        """A program that stands where the real one would be."""
        (self.tools / name).write_text(f"#!{sys.executable}\n{program}")
        (self.tools / name).chmod(0o755)

    def read(self, name: str) -> dict:
        return json.loads((self.folder / name).read_text())

    def records(self, rank: int) -> list[dict]:
        lines = (self.folder / f"rank-{rank}.log").read_text().splitlines()
        return [json.loads(line[9:]) for line in lines if line.startswith("RACKMARK ")]

    def statuses(self) -> dict[int, str]:
        return {int(path.stem[5:]): path.read_text().strip() for path in sorted(self.folder.glob("rank-*.exit"))}

    def processes(self) -> list[int]:
        """All of this job, with what its ranks left behind."""
        found = []
        for process in Path("/proc").iterdir():
            try:
                words = (process / "cmdline").read_bytes().decode().split("\0") if process.name.isdecimal() else []
            except OSError:
                continue
            if any(word == self.mark or word.startswith(f"{self.engine}/") for word in words):
                found.append(int(process.name))
        return found

    def wait_for_steps(self, steps: int, ranks: int = 2) -> None:
        wait_until(lambda: all(self._steps(rank) >= steps for rank in range(ranks)))

    def _steps(self, rank: int) -> int:
        path = self.folder / f"rank-{rank}.log"
        return path.read_text().count('"step":') if path.exists() else 0


def wait_until(condition, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass in time"
        time.sleep(0.05)

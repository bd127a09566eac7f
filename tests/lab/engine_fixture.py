"""Runs the engine as a job does, with a small program in the place of a training."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ENGINE = Path(__file__).parents[2] / "roles/benchmark/files/engine"

# Prints three steps; a rank named with --fail, --hang, --stop or --linger does that after the second one.
TRAINING = """
import json, os, signal, sys, time
rank = int(os.environ["RANK"])
print("RACKMARK " + json.dumps({"event": "start", "time": time.time(), **{
    name: os.environ.get(name) for name in (
        "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT",
        "OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")}}), flush=True)
what = dict(word[2:].split("=") for word in sys.argv[1:] if "=" in word)
for step in (1, 2, 3):
    if step == 3:
        if what.get("fail") == str(rank):
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
    """One job in its folder. `mark` is in the arguments of every rank's program and nowhere else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "run" / "cases" / "1n2g" / "r1"
        self.folder.mkdir(parents=True)
        self.engine = folder / "run" / "engine"
        shutil.copytree(ENGINE, self.engine, ignore=shutil.ignore_patterns("__pycache__"))
        self.training = folder / "training.py"
        self.training.write_text(TRAINING)
        self.tools = folder / "bin"
        self.tools.mkdir()
        self.output = ""
        self.mark = f"--mark={folder}"
        self.environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}"}
        for name in [name for name in self.environment if name.startswith(("SLURM", "CUDA_", "ASCEND_"))]:
            del self.environment[name]

    def command(self, *behaviour: str, launcher: str = "local", **options: object) -> list[str]:
        flags = {"nodes": 1, "ranks-per-node": 2, "minutes": 1, "stalled-after": 60, "device": "cpu", **options}
        words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
        program = [sys.executable, str(self.training), self.mark, *behaviour]
        return [sys.executable, str(self.engine / "job.py"), "--launcher", launcher, *words, "--", *program]

    def begin(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def __call__(self, *behaviour: str, more: tuple[str, ...] = (), **options: object) -> int:
        command = self.command(*behaviour, **options)
        place = command.index("--")
        job = self.begin([*command[:place], *more, *command[place:]])
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
                if process.name.isdecimal() and self.mark.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                    found.append(int(process.name))
            except OSError:
                continue
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

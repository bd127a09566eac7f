"""Samplers of nodes, in a job or by themselves, and what they write."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def sampled(run, seconds=1.5, **fields):
    """A job of that many seconds with ten samples in each."""
    return run(str(seconds), **{"telemetry": 0.1, **fields})


def telemetry_of(run):
    (path,) = run.folder.glob("telemetry-*.jsonl")
    return path


def entries(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def samples(path):
    return [entry for entry in entries(path) if "mono" in entry and "schema" not in entry]


def children(run):
    """Samplers of this job, and the tools that they run: everything that names the folder of its engine or tools."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        for name in ("sampler.py", "npu-smi", "ipmitool"):
            if any(
                word.endswith(f"/{name}".encode()) and str(run.engine.parents[1]).encode() in word for word in words
            ):
                found.setdefault(name, []).append(int(process.name))
    return found


class Alone:
    """The sampler by itself, with devices of its own."""

    def __init__(self, run, vendor, devices=2, seconds=0.1, keep_record=False):
        prefix = {"nvidia": "nvidia", "ascend": "davinci"}.get(vendor)
        for number in range(devices if prefix else 0):
            (run.engine.parents[1] / "root/dev" / f"{prefix}{number}").touch()
        if not keep_record:
            run.record(accelerator=vendor, devices_per_node=devices, telemetry=seconds)
        flags = {"--node": "n1", "--root": run.engine.parents[1] / "root"}
        self.path = run.folder / "telemetry-n1.jsonl"
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-SE",
                str(run.engine / "sampler.py"),
                *(str(word) for pair in flags.items() for word in pair),
            ],
            cwd=run.folder,
            env=run.environment,
            stdin=subprocess.PIPE,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def samples(self):
        """Those that are there whole."""
        if not self.path.exists():
            return []
        whole = self.path.read_text().rpartition("\n")[0].splitlines()
        return [entry for entry in map(json.loads, whole) if "mono" in entry and "schema" not in entry]

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(5) == 0

"""Collects a run, then reads the log of its second rank here and there, and says in JSON what that took.

Each step is done by a process of its own, so that the peak of one hides no other.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import resource
import sys
from pathlib import Path

from rackmark.dialects.catalog import dialect_named
from rackmark.judging.repeat import read_rank_log
from rackmark.logs.series import Window
from rackmark.run.collecting import pack

ROOT = Path(__file__).parents[2]
LOG = "cases/1n2g/r1/rank-1.log"


def collect(run: Path, dest: Path) -> None:
    spec = importlib.util.spec_from_file_location("collect", ROOT / "action_plugins/benchmark_collect.py")
    action = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(action)
    left, texts, names = None, None, set()
    while True:
        answer = pack(run, left, texts)
        action._unpack(base64.b64encode(answer.archive).decode(), dest, names)
        if answer.needs_texts:
            texts = [text.encode() for text in action._texts(dest)]
        left = answer.left
        if left is None:
            return


def read(run: Path) -> list[object]:
    (rank,) = read_rank_log(run / LOG, 1, dialect_named("rackmark"), Window(2, None), 1).ranks.values()
    return [rank.steps, rank.samples, rank.is_unbroken]


def alone(work, *arguments):
    """What it returns, and the most memory that it had, in MB."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        found = work(*arguments)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        os.write(writer, json.dumps([found, peak]).encode())
        os._exit(0)
    os.close(writer)
    os.wait()
    return json.loads(os.read(reader, 1 << 16))


if __name__ == "__main__":
    there, here = Path(sys.argv[1]), Path(sys.argv[2]) / "here"
    steps = [alone(collect, there, here), alone(read, here), alone(read, there)]
    said = {"here": steps[1][0], "there": steps[2][0], "peak_mb": [step[1] for step in steps]}
    print(json.dumps({**said, "kept_mb": (here / LOG).stat().st_size / 2**20}))

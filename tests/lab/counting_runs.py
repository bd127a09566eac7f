"""Runs on the virtual cluster of a workload that only counts, so that they take seconds."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path

COUNTING = str(Path(__file__).parents[1] / "workloads/counting")
LONG = {"steps": 400}  # 20 seconds
HOLD = "/userhome/rackmark/hold"
HELD = {"benchmark_flags": ["--hold", HOLD]}


def run(cluster, **variables):
    return cluster.play("playbooks/run.yml", benchmark_workload=COUNTING, **variables)


def running(cluster, **variables):
    """A run that goes on beside, as its playbook's process."""
    given = json.dumps({"benchmark_workload": COUNTING, "benchmark_runs_dir": str(cluster.runs_dir), **variables})
    return cluster.playing("playbooks/run.yml", "-e", given)


@contextmanager
def held(cluster, *ranks):
    """Jobs of so many ranks, of runs with HELD, stay in their second step until they are released."""
    cluster.on("head", f"mkdir -p {HOLD} && cd {HOLD} && touch {' '.join(map(str, ranks))}")
    try:
        yield
    finally:
        cluster.on("head", f"rm -rf {HOLD}")


def release(cluster, ranks):
    cluster.on("head", f"rm {HOLD}/{ranks}")


def repeats(cluster, case, run_id="latest"):
    summary = json.loads((cluster.runs_dir / run_id / "summary.json").read_text())
    return next(found["runs"] for found in summary["cases"] if found["case"] == case)


def only_repeat(cluster, case):
    (found,) = repeats(cluster, case)
    return found

"""Runs on the virtual cluster of a workload that only counts, so that they take seconds."""

from __future__ import annotations

import json
from pathlib import Path

COUNTING = str(Path(__file__).parents[1] / "workloads/counting")
LONG = {"steps": 400}  # 20 seconds


def run(cluster, **variables):
    return cluster.play("playbooks/run.yml", benchmark_workload=COUNTING, **variables)


def running(cluster, **variables):
    """A run that goes on beside, as its playbook's process."""
    given = json.dumps({"benchmark_workload": COUNTING, "benchmark_runs_dir": str(cluster.runs_dir), **variables})
    return cluster.playing("playbooks/run.yml", "-e", given)


def repeats(cluster, case, run_id="latest"):
    summary = json.loads((cluster.runs_dir / run_id / "summary.json").read_text())
    return next(found["runs"] for found in summary["cases"] if found["case"] == case)


def only_repeat(cluster, case):
    (found,) = repeats(cluster, case)
    return found

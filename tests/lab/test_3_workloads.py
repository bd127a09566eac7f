"""Workloads that take several nodes and are no training with a rank per device."""

from __future__ import annotations

import json
from pathlib import Path

WORKLOADS = Path(__file__).parents[1] / "workloads"


def measured(provisioned, workload, **variables):
    done = provisioned.play("playbooks/run.yml", benchmark_workload=str(WORKLOADS / workload), **variables)
    done.succeeded()
    (case,) = json.loads((provisioned.latest_run() / "summary.json").read_text())["cases"]
    return case


def test_a_program_that_starts_its_own_ranks_spans_the_nodes_of_its_job(provisioned):
    """mpirun of the distribution, over Slurm's nodes, which add up numbers with each other."""
    case = measured(provisioned, "ring", cases="2n2g", benchmark_devices_per_node=2)
    (run,) = case["runs"]
    assert run["state"] == "ok" and run["throughput"] > 0
    repeat = provisioned.latest_run() / "cases/2n2g/r1"
    log = (repeat / "rank-0.log").read_text()
    assert '"world_size": 4' in log and '"hosts": 2' in log
    shared = f"/userhome/rackmark/runs/{provisioned.latest_run().name}/cases/2n2g/r1"
    assert provisioned.on("head", f"cat {shared}/hostfile").splitlines() == ["node1 slots=2", "node2 slots=2"]


def test_one_node_serves_and_the_others_ask(provisioned):
    case = measured(provisioned, "serving", cases="3n1g", repeats=1)
    measures = case["measures"]
    assert list(measures) == ["tokens", "latency_p50", "latency_p99"]
    logs = [(provisioned.latest_run() / f"cases/3n1g/r1/rank-{node}.log").read_text() for node in range(3)]
    stated = [json.loads(line[9:]) for log in logs for line in log.splitlines() if line.startswith("RACKMARK ")]
    assert len(stated) == 2  # one from each client, none from the server
    assert measures["tokens"]["values"] == [sum(one["tokens_per_second"] for one in stated)]
    assert measures["latency_p99"]["values"] == [max(one["latency_p99"] for one in stated)]

"""Plans of runs as tests want them, without a workload."""

from __future__ import annotations

from rackmark.run.cases import Case
from rackmark.run.manifest import PlannedCase
from rackmark.run.run_plan import RunPlan

BATCH = 8


def plan_of(*cases, run_id="r", **changes):
    """One job for each of these cases."""
    planned = [Case.parse(name) for name in cases]
    known = {
        "workload": "resnet50",
        "title": "ResNet-50",
        "framework": "pytorch",
        "unit": "samples/s",
        "preset": "lab",
        "scaling": "weak",
        "device": "cpu",
        "dialect": "rackmark",
        "warmup": 2,
        "steps": 8,
        "settings": {},
        "data": "synthetic",
        "baseline": None,
    }
    listed = [
        PlannedCase(case.name, case.nodes, case.devices_per_node, case.world_size, BATCH, "fp32", repeats=1)
        for case in planned
    ]
    return RunPlan(run_id=run_id, cases=listed, **{**known, **changes})

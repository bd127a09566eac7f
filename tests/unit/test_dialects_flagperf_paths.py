"""What the path of a log of FlagPerf says: case, repeat and rank."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import pytest
from rackmark.dialects import flagperf

NEW_CASE = {
    "model": "resnet50",
    "framework": "pytorch",
    "hardware": "A100",
    "nodes": 2,
    "devices_per_node": 8,
    "host": "10.1.2.3",
    "repeat": 2,
}


@pytest.mark.parametrize(
    ("path", "facts"),
    [
        ("resnet50:pytorch_2.0:A100:2:8:3/round2/10.1.2.3_noderank1/rank11.out.log", {**NEW_CASE, "rank": 11}),
        ("resnet50:pytorch_2.0:A100:2:8:3/round2/10.1.2.3_noderank1/rank3.out.log", {**NEW_CASE, "rank": 11}),
        ("resnet50:pytorch_2.0:A100:2:8:3/round2/10.1.2.3_noderank1/rank0.log.txt", {**NEW_CASE, "rank": 8}),
        ("resnet50:pytorch_2.0:A100:2:8:3/round2/10.1.2.3_noderank1/noderank1.out.log", {**NEW_CASE, "rank": 8}),
        ("resnet50:pytorch_2.0:A100:2:8:3/round2/10.1.2.3_noderank0/flagperf.log", NEW_CASE),
        (
            "result/run1/CPM_TORCH_DEMO_A100_1X8/round1/node_noderank0/rank7.out.log",
            {
                "model": "cpm",
                "framework": "pytorch",
                "hardware": "A100",
                "nodes": 1,
                "devices_per_node": 8,
                "host": "node",
                "repeat": 1,
                "rank": 7,
            },
        ),
        ("any/round1/node_noderank0/rank0.out.log", {"host": "node", "repeat": 1, "rank": 0}),
        ("any/round1/node_noderank1/rank0.out.log", {"host": "node", "repeat": 1}),
        ("1n8g/rn50_b128_fp32_1.log", {}),
        ("rank0.out.log", {}),
    ],
)
def test_the_path_says_case_repeat_and_rank(path: str, facts: dict[str, Any]) -> None:
    assert flagperf.place(PurePath(path)) == facts

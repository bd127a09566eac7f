#!/usr/bin/env python3
"""Inventory of 1000 hosts that do not exist, for what can be measured without them."""

from __future__ import annotations

import json


def host(number: int) -> dict[str, object]:
    return {"ansible_host": f"198.18.{number // 250}.{number % 250 + 1}"}


names = [f"node{number}" for number in range(1, 1001)]
groups = {
    "slurm_controller": {"hosts": ["head"]},
    "slurm_compute": {"children": ["gpu_nodes", "cpu_nodes"]},
    "gpu_nodes": {"hosts": names[:600]},
    "cpu_nodes": {"hosts": names[600:]},
}
variables = {"head": host(1001), **{name: host(number) for number, name in enumerate(names)}}
print(json.dumps({"_meta": {"hostvars": variables}, **groups}))

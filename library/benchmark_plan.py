#!/usr/bin/python
"""Ansible module: the plan of a benchmark run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_plan
short_description: Turn what an operator asks for into the cases and jobs of a run
description:
  - Checks every value against the workload and the cluster and fails with the valid ones. Nothing is changed.
options:
  workload:
    description: Content of the workload's C(workload.yml).
    type: dict
    required: true
  available_nodes:
    description: Number of nodes that can run jobs.
    type: int
    required: true
  devices_per_node:
    description: Devices on each of them.
    type: int
    required: true
  nodes:
    description: Measure the scaling series up to this many nodes; all of them when empty.
    type: str
    default: ''
  cases:
    description: Measure these cases, as in C(1n1g,4n8g).
    type: str
    default: ''
  repeats:
    description: Repeats of every case; the preset's number when empty.
    type: str
    default: ''
  batch:
    description: Batch per device; the preset's when empty.
    type: str
    default: ''
  precision:
    description: Number format; the preset's when empty.
    type: str
    default: ''
  framework:
    description: Training framework; the workload's first choice when empty.
    type: str
    default: ''
  preset:
    description: Named set of sizes in the workload.
    type: str
    default: full
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Plan a scaling run over four nodes
  benchmark_plan:
    workload: "{{ lookup('file', 'workloads/resnet50/workload.yml') | from_yaml }}"
    available_nodes: 4
    devices_per_node: 8
    nodes: 4
"""

RETURN = r"""
plan:
  description: The run, with its cases and jobs.
  type: dict
  returned: success
sentence:
  description: The plan in words.
  type: str
  returned: success
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.plan import Asked, as_data, make_plan

ASKED = ("nodes", "cases", "repeats", "batch", "precision", "framework")


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "workload": {"type": "dict", "required": True},
            "available_nodes": {"type": "int", "required": True},
            "devices_per_node": {"type": "int", "required": True},
            "preset": {"type": "str", "default": "full"},
            **{name: {"type": "str", "default": ""} for name in ASKED},
        },
        supports_check_mode=True,
    )
    params = module.params
    run_id = time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + f"-{params['workload']['name']}"
    asked = Asked(preset=params["preset"], **{name: params[name] for name in ASKED})
    try:
        plan = make_plan(params["workload"], asked, run_id, params["available_nodes"], params["devices_per_node"])
    except ValueError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, plan=as_data(plan), sentence=plan.sentence())


if __name__ == "__main__":
    main()

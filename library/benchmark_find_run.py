#!/usr/bin/python
"""Ansible module: a run that was begun before."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_find_run
short_description: Find a run that was begun before
description:
  - Reads the plan of a run, to resume it or to stop it, and fails with the newest runs where there is no such run.
  - A run is resumed as it was planned, so nothing else may be asked for, but for limits that were too low.
options:
  run_id:
    description: Name of the run.
    type: str
    required: true
  runs:
    description: Folder of all runs, on storage that the nodes share.
    type: path
    required: true
  launcher:
    description: What is expected to have started its jobs.
    type: str
    choices: [slurm, ssh, local, modelarts]
    default: slurm
  workload:
    description: Name of the workload that it is expected to be of; empty for any.
    type: str
    default: ''
  asked:
    description: What the operator gave, each a string, empty for what the run has; see M(benchmark_plan).
    type: dict
    default: {}
  conditions:
    description: How a run would take place by the operator's variables; other values than at its begin are refused.
    type: dict
    default: {}
  defaults:
    description: Values of variables that nobody has given, which are never refused.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Find the run
  benchmark_find_run:
    run_id: 20261118-101500-resnet50
    runs: /userhome/rackmark/runs
"""

RETURN = r"""
plan:
  description: What M(benchmark_plan) returned when the run was begun, and what its manifest says beside.
  type: dict
  returned: success
environment:
  description: What the environment of its ranks was made of; empty where none was made, or an older version did it.
  type: dict
  returned: success
sentence:
  description: Which run it is.
  type: str
  returned: success
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.run.queues import DEFAULT, LAUNCHERS
from ansible.module_utils.rackmark.run.run_folder import (
    known_run,
    refuse_other_conditions,
    refuse_to_resume,
    with_limits,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "run_id": {"type": "str", "required": True},
            "runs": {"type": "path", "required": True},
            "launcher": {"type": "str", "choices": list(LAUNCHERS), "default": DEFAULT},
            "workload": {"type": "str", "default": ""},
            "asked": {"type": "dict", "default": {}},
            "conditions": {"type": "dict", "default": {}},
            "defaults": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        plan = known_run(Path(params["runs"]), params["run_id"])
        refuse_to_resume(plan, params["asked"], params["workload"], params["launcher"])
        refuse_other_conditions(plan, params["conditions"], params["defaults"])
    except (ValueError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=False,
        plan=with_limits(plan, params["asked"]),
        environment=plan.get("environment") or {},
        sentence=f"Resuming {plan['run_id']}, begun {plan['started']}.",
    )


if __name__ == "__main__":
    main()

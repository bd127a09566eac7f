#!/usr/bin/python
"""Documentation of the action benchmark_watch, which runs on the machine that Ansible runs on."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_watch
short_description: Follow the jobs of one or several runs to their end, showing how far they are
description:
  - Asks with M(benchmark_jobs), one query for all jobs of a run each time and ever less often.
  - Only watches. Ending it leaves the jobs alone.
options:
  plan:
    description: The plan, as M(benchmark_plan) returns it.
    type: dict
  run_dir:
    description: Folder of the run.
    type: path
  plans:
    description: Plans of several runs that are followed together, instead of O(plan).
    type: list
    elements: dict
  runs:
    description: Folder of the folders of these runs.
    type: path
  suite_id:
    description: The suite that these runs are.
    type: str
    default: ''
  launcher:
    description: What started the jobs.
    type: str
    choices: [slurm, ssh, local, modelarts]
    default: slurm
  options:
    description: What the launcher's queue is told, see M(benchmark_plan).
    type: dict
    default: {}
  patience:
    description: Seconds after which jobs are cancelled that need more nodes than can take jobs.
    type: int
    default: 600
  secrets:
    description: What the launcher's queue has to know and nobody may read, such as the keys of a cloud.
    type: dict
    default: {}
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Follow the jobs
  benchmark_watch:
    plan: "{{ planned.plan }}"
    run_dir: /userhome/rackmark/runs/{{ planned.plan.run_id }}
"""

RETURN = r"""
states:
  description: State of every job, by name.
  type: dict
  returned: success
seconds:
  description: How long it took.
  type: float
  returned: success
"""

#!/usr/bin/python
"""Documentation of the action slurm_watch, which runs on the machine that Ansible runs on."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_watch
short_description: Follow a run's jobs to their end, showing how far they are
description:
  - Asks with M(slurm_jobs), one query for all jobs each time and ever less often.
  - Only watches. Ending it leaves the jobs alone.
options:
  jobs:
    description: The jobs, as for M(slurm_jobs).
    type: list
    elements: dict
    required: true
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Follow the jobs
  slurm_watch:
    jobs: "{{ run.jobs }}"
"""

RETURN = r"""
states:
  description: Slurm's state of every job, by name.
  type: dict
  returned: success
seconds:
  description: How long it took.
  type: float
  returned: success
"""

#!/usr/bin/python
"""Ansible module: how the jobs of a run are."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_jobs
short_description: Ask how the jobs of a run are
description:
  - Waits until a job writes its end down or O(wait) is over, then asks the queue once for all jobs.
  - The last word on every job is kept as C(job.json) in its folder, for queues forget. What slurmctld has forgotten is
    asked of accounting.
  - Cancels jobs that can never start, and those named in O(give_up).
  - When the queue does not answer, or a folder cannot be read, that is reported and can be asked again.
  - In check mode it only asks.
options:
  plan:
    description: The plan, as M(benchmark_plan) returns it.
    type: dict
    required: true
  run_dir:
    description: Folder of the run.
    type: path
    required: true
  launcher:
    description: What started the jobs.
    type: str
    choices: [slurm, ssh, local, modelarts]
    default: slurm
  options:
    description: What the launcher's queue is told, see M(benchmark_plan).
    type: dict
    default: {}
  wait:
    description: Seconds to wait for the end of a job before asking.
    type: float
    default: 0
  give_up:
    description: Jobs to cancel because they have been stuck for too long.
    type: list
    elements: str
    default: []
  secrets:
    description: What the launcher's queue has to know and nobody may read, such as the keys of a cloud.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Ask once
  benchmark_jobs:
    plan: "{{ planned.plan }}"
    run_dir: /userhome/rackmark/runs/{{ planned.plan.run_id }}
"""

RETURN = r"""
done:
  description: Whether every job has ended.
  type: bool
  returned: always
states:
  description: What is known of every job, by name; C(state) is the word of Slurm for it, for jobs of other queues, too.
  type: dict
  returned: always
logs:
  description: C(head) and C(tail) of what rank 0 of running jobs has logged, base64, by name; of 16 jobs at most.
  type: dict
  returned: always
answered:
  description: Whether all that could be asked was answered; where not, ask again.
  type: bool
  returned: always
now:
  description: The time by which jobs began and end, in seconds.
  type: float
  returned: always
troubles:
  description: Why the queue does not answer, or which folders of jobs cannot be read, in sentences without an end.
  type: list
  elements: str
  returned: always
unfinished:
  description: Jobs that wait or run.
  type: list
  elements: str
  returned: always
quiet:
  description: Nodes of running jobs that have written no sample for long, with the seconds, by name of the job.
  type: dict
  returned: always
stuck:
  description: Waiting jobs that wait for somebody to do something, and what, by name.
  type: dict
  returned: always
submissions:
  description: How often jobs of the run were submitted before this was asked.
  type: int
  returned: always
"""

import base64
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.run.following import follow, logs_of_running, quiet_nodes, wait_for_an_end
from ansible.module_utils.rackmark.run.job_state import QueueError
from ansible.module_utils.rackmark.run.queues import DEFAULT, LAUNCHERS, queue_for
from ansible.module_utils.rackmark.run.queues.queue import Setting, jobs_of
from ansible.module_utils.rackmark.run.submitting import submissions


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "plan": {"type": "dict", "required": True},
            "run_dir": {"type": "path", "required": True},
            "launcher": {"type": "str", "choices": list(LAUNCHERS), "default": DEFAULT},
            "options": {"type": "dict", "default": {}},
            "secrets": {"type": "dict", "default": {}, "no_log": True},
            "wait": {"type": "float", "default": 0},
            "give_up": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    params = module.params
    run_dir = Path(params["run_dir"])
    jobs = jobs_of(params["plan"], run_dir)
    queue = queue_for(
        params["launcher"], Setting(module.run_command, run_dir, options=params["options"], secrets=params["secrets"])
    )
    try:
        wait_for_an_end(jobs, params["wait"])
        earlier = submissions(run_dir)
        found = follow(queue, jobs, params["give_up"], only_ask=module.check_mode)
        quiet = quiet_nodes(jobs, found.states)
    except (QueueError, OSError) as error:
        trouble = f"The run cannot be asked about: {error}" if isinstance(error, OSError) else str(error)
        nothing: dict[str, Any] = {
            "states": {},
            "logs": {},
            "unfinished": [],
            "quiet": {},
            "stuck": {},
            "submissions": 0,
            "now": time.time(),
        }
        module.exit_json(changed=False, done=False, answered=False, troubles=[trouble], **nothing)
    logs = logs_of_running(jobs, found.states)
    module.exit_json(
        changed=False,
        done=len(found.over) == len(jobs),
        answered=found.answered,
        now=time.time(),
        troubles=list(found.unreadable.values()),
        states={name: asdict(state) for name, state in found.states.items()},
        logs={
            name: {"head": base64.b64encode(head).decode(), "tail": base64.b64encode(tail).decode()}
            for name, (head, tail) in logs.items()
        },
        unfinished=[name for name in found.states if name not in found.over],
        quiet=quiet,
        stuck=found.stuck,
        submissions=earlier,
    )


if __name__ == "__main__":
    main()

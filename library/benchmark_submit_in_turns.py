#!/usr/bin/python
"""Ansible module: jobs of several runs handed to a queue so that they take turns."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_submit_in_turns
short_description: Submit the jobs of several runs so that they take turns
description:
  - The first job of every run, then the second of every run, and so on, each after the end of the one before it. What
    drifts while they run (heat, load) is then in all runs alike.
  - The folders of the runs are there, see O(benchmark_start#module:submit). Jobs that another process has submitted
    meanwhile are left to it.
options:
  runs:
    description: C(plan), C(run_dir), C(waiting), which are names of its jobs, and C(hosts) of each run.
    type: list
    elements: dict
    required: true
  launcher:
    description: Kind of the queue.
    type: str
    required: true
  options:
    description: What the queue is told, see M(benchmark_plan).
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Nothing is submitted.
"""

EXAMPLES = r"""
- name: Submit the jobs of both runs
  benchmark_submit_in_turns:
    runs:
      - {plan: "{{ baseline }}", run_dir: /userhome/rackmark/runs/a, waiting: ['rackmark:a:1n1g:1'], hosts: []}
      - {plan: "{{ candidate }}", run_dir: /userhome/rackmark/runs/b, waiting: ['rackmark:b:1n1g:1'], hosts: []}
    launcher: slurm
"""

RETURN = r"""
job_ids:
  description: Numbers of the jobs that were submitted, by name, in their order.
  type: dict
  returned: success
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.run.job_end import is_over
from ansible.module_utils.rackmark.run.job_state import JobId, QueueError
from ansible.module_utils.rackmark.run.queues import queue_for
from ansible.module_utils.rackmark.run.queues.queue import Setting, jobs_of
from ansible.module_utils.rackmark.run.submitting import count_submission, submitting
from ansible.module_utils.rackmark.run.turns import Waiting, submit_in_turns


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "runs": {"type": "list", "elements": "dict", "required": True},
            "launcher": {"type": "str", "required": True},
            "options": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    params = module.params

    def waiting(run: Mapping[str, Any]) -> Waiting:
        run_dir = Path(run["run_dir"])
        queue = queue_for(params["launcher"], Setting(module.run_command, run_dir, run["hosts"], params["options"]))
        jobs = [job for job in jobs_of(run["plan"], run_dir) if job.name in run["waiting"]]
        shown = {name: one for name, one in queue.states([job.name for job in jobs]).items() if not one.finished}
        left = [job for job in jobs if job.name not in shown or is_over(job.folder, shown[job.name])]
        queue.check_access(left)
        return Waiting(queue, left, [job.name for job in left if job.name in shown])

    ids: dict[str, JobId] = {}
    folders = [Path(run["run_dir"]) for run in params["runs"] if run["waiting"]]
    try:
        if not module.check_mode:
            with ExitStack() as held:
                for folder in sorted(folders):
                    held.enter_context(submitting(folder))
                ids = submit_in_turns([waiting(run) for run in params["runs"] if run["waiting"]])
                for folder in folders:
                    count_submission(folder)
    except (QueueError, ValueError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(folders), job_ids=ids)


if __name__ == "__main__":
    main()

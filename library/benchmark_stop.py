#!/usr/bin/python
"""Ansible module: the end of a run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_stop
short_description: Cancel the jobs of one run
description:
  - Cancels the jobs of this run by their numbers, and nothing else. What has ended stays as it is.
  - Succeeds only when no job of the run is left, but for those that a dead node keeps in the queue after their end.
options:
  plan:
    description: The plan, as M(benchmark_find_run) returns it.
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
  timeout:
    description: Seconds that jobs get to end.
    type: int
    default: 120
  secrets:
    description: What the launcher's queue has to know and nobody may read, such as the keys of a cloud.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Stop the run
  benchmark_stop:
    plan: "{{ planned.plan }}"
    run_dir: /userhome/rackmark/runs/{{ planned.plan.run_id }}
"""

RETURN = r"""
cancelled:
  description: Jobs that were waiting or running.
  type: list
  elements: str
  returned: success
held:
  description: Nodes, as the queue writes them, that have not ended their job yet.
  type: list
  elements: str
  returned: success
"""

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.run.job_end import is_over
from ansible.module_utils.rackmark.run.job_state import JobState, QueueError, write_state
from ansible.module_utils.rackmark.run.queues import DEFAULT, LAUNCHERS, queue_for
from ansible.module_utils.rackmark.run.queues.queue import Queue, QueuedJob, Setting, jobs_of
from ansible.module_utils.rackmark.run.run_folder import STOPPED

PAUSE = 0.3


def unfinished(queue: Queue, jobs: Sequence[QueuedJob]) -> dict[str, JobState]:
    states = queue.states([job.name for job in jobs])
    return {job.name: states[job.name] for job in jobs if not is_over(job.folder, states.get(job.name))}


def write_down(job: QueuedJob, state: JobState) -> None:
    """Of a job that its queue will call ended some time: it was cancelled, whatever its nodes were called by then."""
    with suppress(OSError):  # the folder is full or gone
        write_state(job.folder, replace(state, state="CANCELLED", reason="its nodes had not got it ended yet"))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "plan": {"type": "dict", "required": True},
            "run_dir": {"type": "path", "required": True},
            "launcher": {"type": "str", "choices": list(LAUNCHERS), "default": DEFAULT},
            "timeout": {"type": "int", "default": 120},
            "secrets": {"type": "dict", "default": {}, "no_log": True},
        },
        supports_check_mode=True,
    )
    plan, run_dir = module.params["plan"], Path(module.params["run_dir"])
    jobs = jobs_of(plan, run_dir)
    queue = queue_for(module.params["launcher"], Setting(module.run_command, run_dir, secrets=module.params["secrets"]))
    deadline = time.monotonic() + module.params["timeout"]
    held: dict[str, JobState] = {}
    try:
        if not module.check_mode:
            (run_dir / STOPPED).touch()  # for who is still submitting
        found = left = unfinished(queue, jobs)
        while left and not module.check_mode:
            queue.cancel(left)  # also one that was put back into the queue meanwhile
            if time.monotonic() > deadline:
                module.fail_json(
                    msg=f"{', '.join(sorted(left))} did not end in {module.params['timeout']} s: look at"
                    f" {queue.traits.shown_by}."
                )
            time.sleep(PAUSE)
            left = unfinished(queue, jobs)
        if found and not module.check_mode:
            held = {name: state for name, state in queue.states(found).items() if not state.finished}
            for job in jobs:
                if job.name in held:
                    write_down(job, held[job.name])
    except (QueueError, OSError) as error:
        module.fail_json(msg=str(error))
    nodes = sorted({state.nodes for state in held.values() if state.nodes})
    module.exit_json(changed=bool(found), cancelled=sorted(found), held=nodes)


if __name__ == "__main__":
    main()

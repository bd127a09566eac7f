#!/usr/bin/python
"""Ansible module: the end of a run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_stop
short_description: Cancel the jobs of one run
description:
  - Cancels the jobs of this run by their numbers, and nothing else. What has ended stays as it is.
  - Succeeds only when no job of the run is left.
options:
  plan:
    description: The plan, as M(benchmark_plan) returns it for a run that was begun.
    type: dict
    required: true
  run_dir:
    description: Folder of the run.
    type: path
    required: true
  timeout:
    description: Seconds that jobs get to end.
    type: int
    default: 120
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Stop it
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
"""

import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.run.job_state import JobState, QueueError
from ansible.module_utils.rackmark.run.process_queue import ProcessQueue
from ansible.module_utils.rackmark.run.run_folder import STOPPED
from ansible.module_utils.rackmark.run.slurm_queue import SlurmQueue

PAUSE = 0.3


def unfinished(queue: SlurmQueue | ProcessQueue, names: list[str]) -> dict[str, JobState]:
    return {name: state for name, state in queue.states(names).items() if not state.finished}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "plan": {"type": "dict", "required": True},
            "run_dir": {"type": "path", "required": True},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    plan, run_dir = module.params["plan"], Path(module.params["run_dir"])
    names = [job["name"] for job in plan["jobs"]]
    in_slurm = plan["launcher"] == "slurm"
    queue = SlurmQueue(module.run_command) if in_slurm else ProcessQueue(run_dir)
    deadline = time.monotonic() + module.params["timeout"]
    try:
        if not module.check_mode:
            (run_dir / STOPPED).touch()  # for who is still submitting
        found = left = unfinished(queue, names)
        if found and not module.check_mode:
            queue.cancel(found)
            while left := unfinished(queue, names):
                if time.monotonic() > deadline:
                    module.fail_json(
                        msg=f"{', '.join(sorted(left))} did not end in {module.params['timeout']} s: look at squeue."
                    )
                time.sleep(PAUSE)
    except (QueueError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(found), cancelled=sorted(found))


if __name__ == "__main__":
    main()

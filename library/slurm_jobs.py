#!/usr/bin/python
"""Ansible module: the state of jobs, asked of Slurm once."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_jobs
short_description: Ask Slurm once how a run's jobs are
description:
  - One query for all jobs. The final word on a finished job is kept as C(job.json) in its folder, for Slurm forgets.
  - When Slurm does not answer, that is reported and can be asked again; nothing is lost.
options:
  jobs:
    description: The jobs.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Job name in Slurm.
        type: str
        required: true
      case:
        description: Case that the job measures.
        type: str
        required: true
      repeat:
        description: Which repeat of it.
        type: int
        required: true
      nodes:
        description: Nodes of the job.
        type: int
        required: true
      devices_per_node:
        description: Ranks on each node.
        type: int
        required: true
      folder:
        description: Folder of the job.
        type: path
        required: true
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Ask once
  slurm_jobs:
    jobs: "{{ run.jobs }}"
"""

RETURN = r"""
done:
  description: Whether every job has ended.
  type: bool
  returned: always
progress:
  description: How far the run is, in one line.
  type: str
  returned: always
states:
  description: Slurm's state of every job, by name.
  type: dict
  returned: always
"""

import json
from dataclasses import asdict
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.slurm_jobs import JobState, parse_jobs, progress

JOB = {
    "name": {"type": "str", "required": True},
    "case": {"type": "str", "required": True},
    "repeat": {"type": "int", "required": True},
    "nodes": {"type": "int", "required": True},
    "devices_per_node": {"type": "int", "required": True},
    "folder": {"type": "path", "required": True},
}


def keep(folder: Path, job: JobState) -> bool:
    """Write the final word beside the logs; true when it was not there."""
    record = folder / "job.json"
    if record.exists():
        return False
    record.write_text(json.dumps(asdict(job)) + "\n")
    return True


def remembered(folder: Path) -> JobState | None:
    record = folder / "job.json"
    return JobState(**json.loads(record.read_text())) if record.exists() else None


def main() -> None:
    module = AnsibleModule(
        argument_spec={"jobs": {"type": "list", "elements": "dict", "required": True, "options": JOB}},
        supports_check_mode=True,
    )
    jobs = module.params["jobs"]
    status, output, error = module.run_command(["scontrol", "--oneliner", "show", "job"])
    if status != 0:
        said = (error.strip().splitlines() or [f"exit {status}"])[0]
        module.exit_json(changed=False, done=False, states={}, progress=f"Slurm does not answer ({said}), asking again")
    asked = parse_jobs(output)
    states, changed, lost = {}, False, []
    for job in jobs:
        folder = Path(job["folder"])
        state = asked.get(job["name"]) or remembered(folder)
        if state is None:
            lost.append(job["name"])
            continue
        states[job["name"]] = state
        if state.finished and not module.check_mode:
            changed |= keep(folder, state)
    if lost:
        module.warn(f"Slurm has no job called {', '.join(lost)}: it was removed, or Slurm has forgotten it.")
    module.exit_json(
        changed=changed,
        done=all(state.finished for state in states.values()),
        progress=progress(jobs, states),
        states={name: state.state for name, state in states.items()},
    )


if __name__ == "__main__":
    main()

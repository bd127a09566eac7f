#!/usr/bin/python
"""Ansible module: how the jobs of a run are."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_jobs
short_description: Ask how the jobs of a run are
description:
  - Waits until a job writes its end down or RV(wait) is over, then asks Slurm once for all jobs.
  - The last word on every job is kept as C(job.json) in its folder, for Slurm forgets. What slurmctld has forgotten is
    asked of accounting.
  - Cancels jobs that can never start, and those named in O(give_up).
  - When Slurm does not answer, that is reported and can be asked again; nothing is lost.
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
    choices: [slurm, ssh, local]
    default: slurm
  partition:
    description: Partition of the jobs; empty for Slurm's default.
    type: str
    default: ''
  wait:
    description: Seconds to wait for the end of a job before asking.
    type: float
    default: 0
  give_up:
    description: Jobs to cancel because their nodes do not come back.
    type: list
    elements: str
    default: []
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
progress:
  description: How far the run is, in one line.
  type: str
  returned: always
states:
  description: State of every job, by name.
  type: dict
  returned: always
answered:
  description: Whether Slurm answered.
  type: bool
  returned: always
short_of_nodes:
  description: Waiting jobs that need more nodes than can take jobs.
  type: list
  elements: str
  returned: always
"""

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.run.job_state import (
    GIVEN_UP_HOPELESS,
    GIVEN_UP_NODES,
    JobState,
    QueueError,
    ended_by_itself,
    read_state,
    write_state,
)
from ansible.module_utils.rackmark.run.process_queue import ProcessQueue
from ansible.module_utils.rackmark.run.run_progress import progress
from ansible.module_utils.rackmark.run.slurm_queue import SlurmQueue, never_starts, waits_for_nodes

PAUSE = 0.3
LAST_WORD = 3.0  # seconds that Slurm gets for its word on a job that wrote down its end

Jobs = List[Dict[str, Any]]
States = Dict[str, JobState]


def wait_for_an_end(jobs: Jobs, seconds: float) -> None:
    """Looking for files is cheap where asking slurmctld is not."""
    open_jobs = [Path(job["folder"]) for job in jobs if not ended_by_itself(Path(job["folder"]))]
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not any(map(ended_by_itself, open_jobs)):
        time.sleep(PAUSE)


def ask(queue: SlurmQueue | ProcessQueue, jobs: Jobs) -> States:
    """The last word that was written down stands; the rest is asked of the queue, then of accounting."""
    on_record = {job["name"]: read_state(Path(job["folder"])) for job in jobs}
    states = {name: state for name, state in on_record.items() if state is not None and state.finished}
    if isinstance(queue, ProcessQueue):
        return queue.states(on_record)
    unknown = [name for name in on_record if name not in states]
    if unknown:
        states.update(queue.states(unknown))
        states.update(queue.remembered([name for name in unknown if name not in states]))
    return states


def ask_until_settled(queue: SlurmQueue | ProcessQueue, jobs: Jobs) -> States:
    deadline = time.monotonic() + LAST_WORD
    while True:
        states = ask(queue, jobs)
        open_jobs = [job for job in jobs if job["name"] in states and not states[job["name"]].finished]
        ended = [job for job in open_jobs if ended_by_itself(Path(job["folder"]))]
        if not ended or time.monotonic() > deadline:
            return states
        time.sleep(PAUSE)


def give_up(queue: SlurmQueue, states: States, names: dict[str, tuple[str, str]]) -> None:
    """Cancels jobs, each for a state and a reason."""
    given_up = {name: states[name] for name in names if name in states and not states[name].finished}
    queue.cancel(given_up)
    for name, state in given_up.items():
        word, reason = names[name]
        states[name] = replace(state, state=word, reason=reason)


def short_of_nodes(queue: SlurmQueue, jobs: Jobs, states: States, partition: str) -> tuple[list[str], int | None]:
    waiting = [job for job in jobs if job["name"] in states and waits_for_nodes(states[job["name"]])]
    if not waiting:
        return [], None
    usable = queue.usable_nodes(partition)
    return [job["name"] for job in waiting if usable is not None and job["nodes"] > usable], usable


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "plan": {"type": "dict", "required": True},
            "run_dir": {"type": "path", "required": True},
            "launcher": {"type": "str", "choices": ["slurm", "ssh", "local"], "default": "slurm"},
            "partition": {"type": "str", "default": ""},
            "wait": {"type": "float", "default": 0},
            "give_up": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    params = module.params
    run_dir, plan = Path(params["run_dir"]), params["plan"]
    jobs: Jobs = [{**job, "folder": str(run_dir / job["folder"])} for job in plan["jobs"]]
    in_slurm = params["launcher"] == "slurm"
    queue = SlurmQueue(module.run_command) if in_slurm else ProcessQueue(run_dir)
    wait_for_an_end(jobs, params["wait"])
    lacking: list[str] = []
    try:
        states = ask_until_settled(queue, jobs)
        if isinstance(queue, SlurmQueue) and not module.check_mode:
            lacking, usable = short_of_nodes(queue, jobs, states, params["partition"])
            hopeless = {name: never_starts(state) for name, state in states.items()}
            ends = {name: (GIVEN_UP_HOPELESS, reason) for name, reason in hopeless.items() if reason is not None}
            lost = f"it needs more nodes than the {usable} that can take jobs"
            ends.update({name: (GIVEN_UP_NODES, lost) for name in params["give_up"] if name in lacking})
            give_up(queue, states, ends)
    except QueueError as error:
        module.exit_json(
            changed=False, done=False, answered=False, states={}, short_of_nodes=[], progress=f"{error}, asking again"
        )
    over = set()
    for job in jobs:
        folder, state = Path(job["folder"]), states.get(job["name"])
        if state is None or state.finished or ended_by_itself(folder):
            over.add(job["name"])
        if in_slurm and not module.check_mode and state is not None and state.finished and read_state(folder) is None:
            with suppress(OSError):  # the disk is full: the job's own record of its end has to do
                write_state(folder, queue.with_node_reasons(state) if isinstance(queue, SlurmQueue) else state)
    module.exit_json(
        changed=False,
        done=len(over) == len(jobs),
        answered=True,
        states={name: state.state for name, state in states.items()},
        short_of_nodes=[name for name in lacking if name not in over],
        progress=progress(jobs, plan, states),
    )


if __name__ == "__main__":
    main()

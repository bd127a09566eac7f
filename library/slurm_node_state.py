#!/usr/bin/python
"""Ansible module: take nodes out of service, or back into it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_node_state
short_description: Drain nodes, with a reason, or let them take jobs again
description:
  - A drained node finishes its jobs and gets no new ones. With C(wait) the module comes back when the jobs have ended,
    and fails with their names when they have not.
  - A node that is already out of service keeps the reason it has.
  - Slurm is asked on the host where the module runs.
options:
  nodes:
    description: Names of the nodes.
    type: list
    elements: str
    required: true
  only_reason:
    description: Take back only the nodes that are out of service for exactly this reason.
    type: str
  unknown:
    description: What to do about nodes that Slurm does not know.
    type: str
    choices: [refuse, ignore]
    default: refuse
  state:
    description: Out of service or in it.
    type: str
    choices: [drained, available]
    required: true
  reason:
    description: Why; shown to everybody who asks Slurm for the node.
    type: str
    default: drained with Rackmark
  wait:
    description: Seconds to wait until no job runs on the nodes; with 0 running jobs are not waited for.
    type: int
    default: 0
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Take a node out of service and wait for its jobs, an hour at most
  slurm_node_state:
    nodes: [node3]
    state: drained
    reason: fan is broken
    wait: 3600
"""

RETURN = r"""
changed_nodes:
  description: Nodes whose state was changed.
  type: list
  elements: str
  returned: always
jobs:
  description: Jobs that still run on the nodes.
  type: list
  elements: str
  returned: always
  sample: ['12 (rackmark, train)']
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.hostlist import compact
from ansible.module_utils.rackmark.slurm_nodes import SINFO_FORMAT, NodeState, parse_sinfo

_OUT = ("drain", "down", "fail", "maint")


class Slurm:
    def __init__(self, module: AnsibleModule) -> None:
        self.module = module

    def ask(self, *words: str) -> str:
        status, output, errors = self.module.run_command(list(words))
        if status != 0:
            self.module.fail_json(msg=f"'{' '.join(words)}' failed: {(errors or output).strip()}")
        return output

    def states(self, names: list[str]) -> dict[str, NodeState]:
        known = parse_sinfo(self.ask("sinfo", "--noheader", "--Node", f"--format={SINFO_FORMAT}"))
        missing = [name for name in names if name not in known]
        if missing and self.module.params["unknown"] == "refuse":
            self.module.fail_json(
                msg=f"Slurm does not know {compact(missing)}, its nodes are {compact(known)}: look at the spelling."
            )
        return {name: known[name] for name in names if name in known}

    def jobs(self, names: list[str]) -> list[str]:
        states = "--states=RUNNING,COMPLETING,SUSPENDED,STOPPED"
        output = self.ask("squeue", "--noheader", states, f"--nodelist={compact(names)}", "--format=%A (%u, %j)")
        return output.splitlines()

    def update(self, names: list[str], *settings: str) -> None:
        if names:
            self.ask("scontrol", "update", f"nodename={compact(names)}", *settings)


def to_change(node: NodeState, draining: bool, only_reason: str | None) -> bool:
    if draining:
        # A node that is down finishes no jobs and would come back by itself: it is drained as well.
        return not node.state.startswith(("drain", "maint"))
    return node.state.startswith(_OUT) and only_reason in (None, node.reason)


def wait_for_jobs(slurm: Slurm, names: list[str], seconds: int) -> list[str]:
    deadline = time.monotonic() + seconds
    pause = 0.5
    while (jobs := slurm.jobs(names)) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(pause * 1.5, 15)
    return jobs


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "nodes": {"type": "list", "elements": "str", "required": True},
            "state": {"type": "str", "choices": ["drained", "available"], "required": True},
            "reason": {"type": "str", "default": "drained with Rackmark"},
            "wait": {"type": "int", "default": 0},
            "only_reason": {"type": "str"},
            "unknown": {"type": "str", "choices": ["refuse", "ignore"], "default": "refuse"},
        },
        supports_check_mode=True,
    )
    wait, draining = module.params["wait"], module.params["state"] == "drained"
    slurm = Slurm(module)
    states = slurm.states(module.params["nodes"]) if module.params["nodes"] else {}
    names = list(states)
    if not names:
        module.exit_json(changed=False, changed_nodes=[], jobs=[])
    targets = [name for name, node in states.items() if to_change(node, draining, module.params["only_reason"])]
    jobs: list[str] = []
    if not module.check_mode:
        if draining:
            slurm.update(targets, "state=drain", f"reason={module.params['reason']}")
            jobs = wait_for_jobs(slurm, names, wait)
        else:
            slurm.update(targets, "state=resume")
    else:
        jobs = slurm.jobs(names)
    if jobs and wait and not module.check_mode:
        module.fail_json(
            msg=f"Jobs still run on {compact(names)} after {wait} seconds: {', '.join(jobs)}. The nodes stay drained:"
            " wait longer (-e wait=SECONDS), end the jobs with scancel, or take the nodes back: playbooks/resume.yml.",
            jobs=jobs,
            changed_nodes=targets,
        )
    module.exit_json(changed=bool(targets), changed_nodes=targets, jobs=jobs)


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Ansible module: whether Slurm's nodes can take jobs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_nodes_ready
short_description: Wait until Slurm says that its nodes can take jobs
description:
  - Asks C(sinfo) until every given node is idle or at work, and fails with the others named, each with Slurm's reason.
    It goes on as long as states change, and ends at once when slurmctld has ended on this host.
  - A node that a person has drained is left out with a warning. So is one that a rolling.yml that did not
    finish left drained; it is returned in C(left_by_rolling).
  - Nothing is changed. In check mode, where Slurm does not run yet, there is nothing to ask, and the module says so.
options:
  nodes:
    description: Names of the nodes.
    type: list
    elements: str
    required: true
  enough:
    description: Be content when this many of them can take jobs; all of them when 0.
    type: int
    default: 0
  lost:
    description: Those of them that are known not to come, since they failed before; they are named and not waited for.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds to wait for a change of any node's state; at most five times that in all.
    type: int
    default: 60
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Ask Slurm whether all nodes can take jobs
  slurm_nodes_ready:
    nodes: [node1, node2]
"""

RETURN = r"""
states:
  description: State of every node, as Slurm calls it.
  type: dict
  returned: always
  sample: {node1: idle, node2: mixed}
left_by_rolling:
  description: Nodes that rolling.yml drained and did not take back.
  type: list
  elements: str
  returned: when Slurm answers
silent:
  description: Nodes from which Slurm does not hear.
  type: list
  elements: str
  returned: when nodes are not ready
"""

import shutil
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import service_wait
from ansible.module_utils.rackmark.hostlist import compact
from ansible.module_utils.rackmark.slurm_nodes import (
    SINFO_FORMAT,
    Census,
    NodeState,
    complaint,
    parse_sinfo,
    take_census,
)

LONGEST = 5  # nodes that come and go are not waited for without end


def read_states(module: AnsibleModule) -> dict[str, NodeState]:
    status, output, _ = module.run_command(["sinfo", "--noheader", "--Node", f"--format={SINFO_FORMAT}"])
    return parse_sinfo(output) if status == 0 else {}


def is_enough(census: Census, enough: int, lost: list[str]) -> bool:
    waited_for = {*(node.name for node in census.unfit), *census.missing}.difference(lost)
    return len(census.fit) >= enough if enough else not waited_for


def wait_for_nodes(module: AnsibleModule) -> dict[str, NodeState]:
    """As they are when they are ready, or when waiting has no more sense; empty where slurmctld does not answer."""
    asked = module.params
    patience = 0 if module.check_mode else asked["timeout"]
    slurmctld = service_wait.Service("slurmctld", module.run_command)
    before: dict[str, NodeState] = {}
    began = changed = time.monotonic()
    while True:
        states, now = read_states(module), time.monotonic()
        if states != before:
            before, changed = states, now
        if states and is_enough(take_census(asked["nodes"], states), asked["enough"], asked["lost"]):
            return states
        if not states:
            gone = slurmctld.life().is_over
            if not patience or gone or now - began > service_wait.PATIENCE:
                return states
        elif now - changed > patience or now - began > LONGEST * patience:
            return states
        time.sleep(0.5)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "nodes": {"type": "list", "elements": "str", "required": True},
            "enough": {"type": "int", "default": 0},
            "lost": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    wanted, enough = module.params["nodes"], module.params["enough"]
    is_installed = shutil.which("sinfo") is not None
    if module.check_mode and not (is_installed and read_states(module)):
        module.exit_json(
            changed=False,
            states={},
            left_by_rolling=[],
            msg="Slurm does not run yet, so there is nothing to ask.",
        )
    if not is_installed:
        module.fail_json(msg="Slurm is not installed here: run 'ansible-playbook site.yml' first.", states={})

    states = wait_for_nodes(module)
    census = take_census(wanted, states)
    ready = is_enough(census, enough, [])
    shown = {name: node.state for name, node in states.items()}
    left = [node.name for node in census.left_by_rolling]
    if not states:
        said = service_wait.Service("slurmctld", module.run_command).last_words()
        module.fail_json(msg=f"slurmctld does not answer sinfo on this host. {said}", states={})
    if not ready and not module.check_mode:
        module.fail_json(msg=complaint(census), states=shown, left_by_rolling=left, silent=census.silent)
    if census.held and not enough:
        reasons = "; ".join(node.reason for node in census.held)
        module.warn(f"{compact(node.name for node in census.held)} is drained by a person and not checked: {reasons}")
    if left and not enough:
        module.warn(
            f"{compact(left)} is still drained by a rolling.yml that did not finish; the next one takes it back."
        )
    module.exit_json(changed=False, states=shown, left_by_rolling=left)


if __name__ == "__main__":
    main()

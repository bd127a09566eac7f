#!/usr/bin/python
"""Ansible module: whether Slurm's nodes can take jobs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_nodes_ready
short_description: Wait until Slurm says that its nodes can take jobs
description:
  - Asks C(sinfo) until every given node is idle or at work, and fails with the others named, each with Slurm's reason.
  - A node that a person has drained is left out with a warning.
  - Nothing is changed. In check mode on a host without Slurm there is nothing to ask, and the module says so.
options:
  nodes:
    description: Names of the nodes.
    type: list
    elements: str
    required: true
  timeout:
    description: Seconds to wait.
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
"""

import shutil
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.hostlist import compact
from ansible.module_utils.rackmark.slurm_nodes import SINFO_FORMAT, NodeState, parse_sinfo


def read_states(module: AnsibleModule) -> dict[str, NodeState]:
    status, output, _error = module.run_command(["sinfo", "--noheader", "--Node", f"--format={SINFO_FORMAT}"])
    if status != 0:
        return {}
    return parse_sinfo(output)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "nodes": {"type": "list", "elements": "str", "required": True},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    wanted = module.params["nodes"]
    if module.check_mode:
        if shutil.which("sinfo") is None:
            module.exit_json(changed=False, states={}, msg="Slurm is not installed yet, so there is nothing to ask.")
        module.params["timeout"] = 0
    deadline = time.monotonic() + module.params["timeout"]
    while True:
        states = read_states(module)
        held = [name for name in wanted if name in states and states[name].held_by_a_person]
        missing = [name for name in wanted if name not in states]
        unfit = [states[name] for name in wanted if name in states and name not in held and not states[name].takes_jobs]
        if (not missing and not unfit) or time.monotonic() > deadline:
            break
        time.sleep(0.5)
    shown = {name: states[name].state for name in wanted if name in states}
    if held:
        module.warn(f"{compact(held)} drained by a person, not checked: " + "; ".join(states[n].reason for n in held))
    if not states:
        module.fail_json(msg="slurmctld does not answer sinfo: look at 'journalctl -u slurmctld' here.", states={})
    if missing:
        module.fail_json(msg=f"Slurm does not know {compact(missing)}: slurm.conf has no such node.", states=shown)
    if unfit and not module.check_mode:
        said = "; ".join(f"{node.name} is {node.state} ({node.reason})" for node in unfit)
        advice = "Look at 'journalctl -u slurmd' there; a node comes back when its slurmd answers."
        drained = compact(node.name for node in unfit if node.state.startswith("drain"))
        if drained:
            advice += f" A drained one also needs 'scontrol update nodename={drained} state=resume'."
        module.fail_json(msg=f"Slurm cannot use every node: {said}. {advice}", states=shown)
    module.exit_json(changed=False, states=shown)


if __name__ == "__main__":
    main()

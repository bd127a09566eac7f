#!/usr/bin/python
"""Ansible module: the virtual cluster as a whole."""

from __future__ import annotations

DOCUMENTATION = r"""
module: lab_cluster
short_description: Boot, resize, repair or remove the virtual cluster
description:
  - Makes a head and compute nodes as systemd-nspawn containers on a private bridge of this machine.
  - What is already as asked is left alone, dead nodes are started again, surplus nodes are removed.
  - C(absent) removes every process, mount, link, firewall rule, cgroup and file of the cluster and puts kernel
    settings back.
options:
  name:
    description: Name of the virtual cluster; several can exist on different subnets.
    type: str
    required: true
  nodes:
    description: Number of compute nodes, beside the head.
    type: int
    default: 1
  suite:
    description: Debian suite of the nodes; its image must exist.
    type: str
    default: bookworm
  subnet:
    description: IPv4 network of the nodes.
    type: str
    default: 10.77.0.0/24
  cpu_share:
    description: Fixed part of one core that each compute node may use; C(auto) divides 80 % of the cores among them.
    type: str
    default: auto
  state_dir:
    description: Folder that holds images and virtual clusters.
    type: path
    required: true
  shared_dir:
    description: Where the nodes see the folder they share.
    type: str
    default: /userhome
  owner:
    description: Numeric user id that will use the cluster's SSH key.
    type: int
    default: 0
  pip_config:
    description: Output of C(pip config list), carried into the nodes with the local folders it names.
    type: str
    default: ''
  accelerators:
    description: Simulated accelerators by node, as C(nvidia:N) or C(ascend:N); a node whose value changes is restarted.
    type: dict
    default: {}
  proxies:
    description: Proxy variables for the nodes' environment.
    type: dict
    default: {}
  state:
    description: Whether the cluster should exist.
    type: str
    choices: [present, absent]
    default: present
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Boot a head and four nodes
  lab_cluster:
    name: lab
    nodes: 4
    suite: bookworm
    subnet: 10.77.0.0/24
    state_dir: /var/lib/rackmark

- name: Remove it
  lab_cluster:
    name: lab
    state_dir: /var/lib/rackmark
    state: absent
"""

RETURN = r"""
created:
  description: Nodes made by this run.
  type: list
  elements: str
  returned: when state is present
started:
  description: Nodes that were dead and were started again.
  type: list
  elements: str
  returned: when state is present
restarted:
  description: Nodes that were restarted to get other accelerators.
  type: list
  elements: str
  returned: when state is present
removed:
  description: Nodes taken away.
  type: list
  elements: str
  returned: when state is present
ssh_config:
  description: File for C(ssh -F) to reach the nodes by name.
  type: str
  returned: when state is present
seconds:
  description: Time from the first change until every node answered SSH.
  type: float
  returned: when state is present
"""

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.lab import carryover, host
from ansible.module_utils.rackmark.lab.cluster import Lab
from ansible.module_utils.rackmark.lab.spec import LabError, LabSpec, default_cpu_share

OPTIONS: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "nodes": {"type": "int", "default": 1},
    "suite": {"type": "str", "default": "bookworm"},
    "subnet": {"type": "str", "default": "10.77.0.0/24"},
    "cpu_share": {"type": "str", "default": "auto"},
    "state_dir": {"type": "path", "required": True},
    "shared_dir": {"type": "str", "default": "/userhome"},
    "owner": {"type": "int", "default": 0},
    "accelerators": {"type": "dict", "default": {}},
    "pip_config": {"type": "str", "default": ""},
    "proxies": {"type": "dict", "default": {}},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


def cpu_share(option: str, nodes: int) -> float:
    if option == "auto":
        return default_cpu_share(len(os.sched_getaffinity(0)), max(nodes, 1))
    try:
        return float(option)
    except ValueError as error:
        raise LabError(
            f"lab_cpu_share={option!r} is not a number: use auto or a part of one core such as 0.4."
        ) from error


def bring_up(lab: Lab, params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    changes = lab.changes()
    began = time.monotonic()
    if not check_mode:
        if changes:
            carried = carryover.collect(params["suite"], params["pip_config"], params["proxies"])
            lab.bring_up(changes, carried, params["owner"])
        lab.wait_for_ssh()
    return {
        "changed": bool(changes),
        "seconds": round(time.monotonic() - began, 1),
        "ssh_config": str(lab.spec.directory / "ssh_config"),
        **asdict(changes),
    }


def main() -> None:
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    params = module.params
    try:
        host.check_can_carry_a_lab()
        lab = Lab(
            LabSpec(
                name=params["name"],
                nodes=params["nodes"],
                suite=params["suite"],
                subnet=params["subnet"],
                cpu_share=cpu_share(params["cpu_share"], params["nodes"]),
                state_dir=Path(params["state_dir"]),
                shared_dir=params["shared_dir"],
                accelerators=params["accelerators"],
            )
        )
        if params["state"] == "present":
            result = bring_up(lab, params, module.check_mode)
        else:
            result = {"changed": lab.spec.directory.exists() if module.check_mode else lab.take_down()}
    except (LabError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Ansible module: what the pings of Ascend devices come to."""

from __future__ import annotations

DOCUMENTATION = r"""
module: device_network_report
short_description: Judge the pings between Ascend devices
description:
  - Takes what M(device_network_ping) found on each node, and names the smallest things that explain failed pings, such
    as a pair, a device, a node or a network.
  - Writes the whole matrix as C(matrix.csv), what it comes to as C(network.json), and both as a page, C(network.html).
  - Does not fail when a ping failed, which is what RV(passed) says.
  - Runs on the controller with the Python of Ansible, which has NumPy.
options:
  devices:
    description: All devices, as M(device_network_ping) was given them.
    type: list
    elements: dict
    required: true
  nodes:
    description: What M(device_network_ping) returned on each node, by name; a failure has C(msg) in place of C(pings).
    type: dict
    required: true
  problems:
    description: Sentences on addresses that cannot be right.
    type: list
    elements: str
    default: []
  links_down:
    description: Devices whose link is down, as in V(node2 device 3).
    type: list
    elements: str
    default: []
  within_nodes:
    description: Whether devices of one node were to ping each other.
    type: bool
    default: true
  minutes:
    description: Time that the pings had.
    type: int
    required: true
  simulated:
    description: What of this cluster is simulated, which the files then say.
    type: list
    elements: str
    default: []
  dest:
    description: Folder for the files.
    type: path
    required: true
  templates:
    description: Folder of the templates of reports.
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: Everything is judged and returned, nothing is written.
author:
  - Rackmark
"""

EXAMPLES = r"""
- name: Judge the pings between the devices
  device_network_report:
    devices: "{{ devices }}"
    nodes: {node1: "{{ hostvars.node1.device_pings }}", node2: "{{ hostvars.node2.device_pings }}"}
    minutes: 10
    dest: "{{ playbook_dir }}/../reports/device_networks/now"
    templates: "{{ playbook_dir }}/../reports/templates"
  delegate_to: localhost
  vars:
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
  register: network
"""

RETURN = r"""
passed:
  description: Whether all that was tested is reached, this was enough for each device, and no address is in doubt.
  type: bool
  returned: success
conclusion:
  description: The outcome in a sentence.
  type: str
  returned: success
summary:
  description: Numbers for a terminal, one entry per line.
  type: list
  elements: str
  returned: success
problems:
  description: What is wrong, a sentence each.
  type: list
  elements: str
  returned: success
remarks:
  description: What was not tested, and what is simulated, a sentence each.
  type: list
  elements: str
  returned: success
report:
  description: Path of C(network.html).
  type: str
  returned: success
files:
  description: The files that were written because they were missing or differed.
  type: list
  elements: str
  returned: success
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.files import keep_files
from ansible.module_utils.rackmark.node import ping_order
from ansible.module_utils.rackmark.ping_matrix.files import files
from ansible.module_utils.rackmark.ping_matrix.matrix import matrix
from ansible.module_utils.rackmark.ping_matrix.partners import reason
from ansible.module_utils.rackmark.ping_matrix.verdict import conclusion, summary, verdict


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "devices": {"type": "list", "elements": "dict", "required": True},
            "nodes": {"type": "dict", "required": True},
            "problems": {"type": "list", "elements": "str", "default": []},
            "links_down": {"type": "list", "elements": "str", "default": []},
            "within_nodes": {"type": "bool", "default": True},
            "minutes": {"type": "int", "required": True},
            "simulated": {"type": "list", "elements": "str", "default": []},
            "dest": {"type": "path", "required": True},
            "templates": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    given = module.params
    rows = [row for answer in given["nodes"].values() for row in answer.get("pings", [])]
    silent = {name: reason(answer) for name, answer in given["nodes"].items() if "pings" not in answer}
    made = matrix(ping_order.read(given["devices"]), rows, given["within_nodes"])
    result = verdict(made, given["problems"], given["links_down"], silent, given["minutes"])
    result = {**result, "minutes": given["minutes"], "simulated": given["simulated"]}
    folder = Path(given["dest"])
    try:
        written = keep_files(folder, files(made, result, Path(given["templates"])), only_look=module.check_mode)
    except OSError as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=bool(written),
        files=written,
        passed=result["passed"],
        conclusion=conclusion(result),
        summary=summary(result),
        problems=result["problems"],
        remarks=result["remarks"] + ([f"Simulated: {', '.join(given['simulated'])}."] if given["simulated"] else []),
        report=str(folder / "network.html"),
    )


if __name__ == "__main__":
    main()

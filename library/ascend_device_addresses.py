#!/usr/bin/python
"""Ansible module: the addresses of a host's Ascend devices, as rank tables need them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ascend_device_addresses
short_description: Addresses of a host's Ascend devices, and their places in a super pod
description:
  - Asks every Ascend device of the host with C(hccn_tool) for the address of its own network port, and reads
    C(/etc/hccn.conf) where a device does not tell. Asks C(npu-smi) for the super pod. Changes nothing.
  - Fails on nothing that it finds. What cannot be right is in RV(problems).
options: {}
attributes:
  check_mode:
    support: full
author:
  - Rackmark
"""

EXAMPLES = r"""
- name: Ask the devices for their addresses
  ascend_device_addresses:
  register: device_addresses
"""

RETURN = r"""
devices:
  description: Addresses by the numbers of the devices. A device whose address nobody knows is empty.
  type: dict
  returned: always
  sample: {"0": "198.51.100.10", "1": "198.51.100.11"}
super_pod:
  description: Number of the super pod, empty where the host is in none.
  type: str
  returned: always
super_ids:
  description: Numbers of the devices in the super pod, by their numbers on the host.
  type: dict
  returned: always
problems:
  description: Sentences on devices that say another address than C(/etc/hccn.conf) keeps for the next start.
  type: list
  elements: str
  returned: always
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.node.device_network import addresses
from ansible.module_utils.rackmark.node.devices import device_files, number_of
from ansible.module_utils.rackmark.node.super_pods import super_pod


def main() -> None:
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    numbers = [number_of("ascend", path) for path in device_files("ascend", Path("/dev"))]
    found, pod = addresses(numbers), super_pod()
    module.exit_json(
        changed=False,
        devices={str(number): found.addresses.get(str(number), "") for number in numbers},
        super_pod=pod.name,
        super_ids={str(number): own for number, own in pod.devices.items()},
        problems=found.problems,
    )


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Ansible module: what the Ascend devices of a host say of their network."""

from __future__ import annotations

DOCUMENTATION = r"""
module: device_network_interfaces
short_description: Addresses, networks and links of a host's Ascend devices
description:
  - Asks every Ascend device of the host with C(hccn_tool) for its address, gateway and link, and compares the address
    with the one that C(/etc/hccn.conf) keeps for the next start. Changes nothing.
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
  device_network_interfaces:
  register: device_interfaces
"""

RETURN = r"""
devices:
  description: The devices whose files are there, in the order of their numbers; null is what a device does not tell.
  type: list
  elements: dict
  returned: always
  contains:
    number:
      description: Number of the device.
      type: int
    address:
      description: Its address, as the device says it.
      type: str
    network:
      description: The network of that address, empty where the device tells no netmask.
      type: str
    has_gateway:
      description: Whether the device has a way to other networks.
      type: bool
    link:
      description: V(UP) or V(DOWN).
      type: str
problems:
  description: Sentences on addresses that differ from C(/etc/hccn.conf), are missing, or could not be asked.
  type: list
  elements: str
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.node.device_interfaces import interfaces


def main() -> None:
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    module.exit_json(changed=False, **interfaces())


if __name__ == "__main__":
    main()

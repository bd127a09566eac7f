#!/usr/bin/python
"""Documentation of the action inventory_check, which runs on the machine that Ansible runs on."""

from __future__ import annotations

DOCUMENTATION = r"""
module: inventory_check
short_description: Find everything that is wrong with the inventory, without logging in anywhere
description:
  - Holds every variable that is set for any host, or with C(-e), against the argument specifications of all roles, and
    names variables that nobody reads.
  - Looks at hosts, groups, addresses and cluster-wide variables together.
  - Asks the SSH ports of hosts whether they answer, all at once.
  - Fails with one line for every problem. Values of secrets are never shown. Nothing is changed.
options:
  roles:
    description: Folder of the roles.
    type: path
    required: true
  command_line:
    description: What playbooks take with C(-e) beside the variables of roles, each as in an argument specification.
    type: dict
    required: true
  only_variables:
    description: Leave hosts and groups alone, for playbooks that need no cluster.
    type: bool
    default: false
  leaving:
    description: Hosts that are on their way out of the cluster, and count no more.
    type: list
    elements: str
    default: []
  probe:
    description: Hosts whose SSH port is asked. Those behind a jump host, or without SSH, are left out and counted.
    type: list
    elements: str
    default: []
  every_host:
    description: Whether the playbook needs every host, so that one that does not answer cannot be left out.
    type: bool
    default: false
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Check the inventory
  inventory_check:
    roles: roles
    command_line: {nodes: {type: str, description: Number of nodes.}}
    leaving: []
    probe: "{{ ansible_play_hosts_all }}"
  run_once: true
"""

RETURN = r"""
msg:
  description: What was checked, or the problems, one in a line.
  type: str
  returned: always
problems:
  description: The problems, sorted.
  type: list
  elements: str
  returned: always
"""

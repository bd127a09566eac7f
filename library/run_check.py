#!/usr/bin/python
"""Documentation of the action run_check, which runs on the machine that Ansible runs on."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_check
short_description: Refuse a run that would not do what its command line says
description:
  - Ansible passes over tags, hosts and groups that do not exist, and ends well. Here C(--tags), C(--skip-tags) and
    C(--limit) are held against the playbook and the inventory, and what is wrong is named. So are words of C(-e) that set
    no variable.
  - Of the runs on this machine, one at a time changes a cluster. A second one fails and names the first. The lock ends
    with the process of Ansible, however it ends. It is not taken in check mode.
  - Runs on other machines are not seen.
options:
  hosts:
    description: The hosts of this run.
    type: list
    elements: str
    required: true
  leaving:
    description: Hosts that are on their way out of the cluster, and may be left out.
    type: list
    elements: str
    default: []
  every_host:
    description: Refuse a limit that leaves hosts out.
    type: bool
    default: false
  controller:
    description: Refuse a limit that leaves out the first controller, where Ansible would do nothing and end well.
    type: bool
    default: false
  changes:
    description: Whether the playbook changes the cluster, and takes the lock.
    type: bool
    default: false
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Check the command line
  run_check:
    hosts: "{{ ansible_play_hosts_all }}"
    changes: true
  run_once: true
"""

RETURN = r"""
msg:
  description: What is wrong, one problem in a line.
  type: str
  returned: always
"""

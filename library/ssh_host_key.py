#!/usr/bin/python
"""Documentation of the action ssh_host_key, which runs on the machine that Ansible runs on."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_host_key
short_description: Whether the key that a host shows is to be trusted
description:
  - Asks the host for its keys, without logging in, and compares them with a known_hosts file.
  - Fails for a host that shows another key than the one known, and for one that shows none.
  - The key of a host that is not known yet is only told; with the right C(fingerprint) it is recorded.
options:
  address:
    description: Where the host answers.
    type: str
    required: true
  port:
    description: Port of its SSH server.
    type: int
    required: true
  known_hosts:
    description: File of the keys that are trusted.
    type: path
    required: true
  fingerprint:
    description: What a person vouches for, as C(ssh-keygen -l) shows it. One of the host's keys must have it.
    type: str
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Look at the host key
  ssh_host_key:
    address: 192.0.2.11
    port: 22
    known_hosts: ~/.ssh/known_hosts
  register: seen

- name: Trust it
  ssh_host_key:
    address: 192.0.2.11
    port: 22
    known_hosts: ~/.ssh/known_hosts
    fingerprint: "{{ seen.fingerprint }}"
"""

RETURN = r"""
trusted:
  description: Whether the host's key is in the file, or has the given fingerprint.
  type: bool
  returned: success
fingerprint:
  description: Of the trusted key, else of the best that the host shows.
  type: str
  returned: success
shown:
  description: The host with that key, for a person.
  type: str
  returned: success
"""

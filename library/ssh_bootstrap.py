#!/usr/bin/python
"""Documentation of the action ssh_bootstrap, which runs on the machine that Ansible runs on."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_bootstrap
short_description: Make a host that asks for a password accept a key
description:
  - Installs a public key for the login user with a password, unless a login with the key works already, and proves
    with a new login that it does.
  - A login user other than root gets C(sudo) without a password, which all other playbooks need.
  - Then password login and root login can be switched off. sshd checks the settings before it takes them, a new login
    is made while the old connection stays open, and the host takes the settings back by itself if that login fails.
  - The host's key must be in C(known_hosts), see M(ssh_host_key).
options:
  address:
    description: Where the host answers.
    type: str
    required: true
  port:
    description: Port of its SSH server.
    type: int
    required: true
  user:
    description: User to log in as.
    type: str
    required: true
  key:
    description: Private key; the public one is beside it and ends in C(.pub).
    type: path
    required: true
  known_hosts:
    description: File of the host keys that are trusted.
    type: path
    required: true
  password_variable:
    description: Name of the variable that holds the password. The password itself is not to be an argument.
    type: str
    required: true
  password_may_follow:
    description: Say so where a password is needed and missing, instead of failing.
    type: bool
    required: true
  password_login:
    description: Whether hosts go on to accept passwords.
    type: bool
    required: true
  root_login:
    description: Whether hosts go on to let root in.
    type: bool
    required: true
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Install the SSH key
  ssh_bootstrap:
    address: 192.0.2.11
    port: 22
    user: admin
    key: ~/.ssh/id_ed25519
    known_hosts: ~/.ssh/known_hosts
    password_variable: bootstrap_password
    password_may_follow: false
    password_login: false
    root_login: true
"""

RETURN = r"""
done:
  description: What was done to the host.
  type: list
  elements: str
  returned: success
  sample: [key installed]
needs_password:
  description: The host wants a password and there is none yet.
  type: bool
  returned: success
"""

#!/usr/bin/python
"""Ansible module: the user that a service of ours runs as."""

from __future__ import annotations

DOCUMENTATION = r"""
module: system_user
short_description: A user for a service, who cannot log in
description:
  - Makes a system user with a group of its own, no password and no home folder. The system chooses the number.
  - One that is there gets the home and the shell asked for; everything else about it stays.
options:
  name:
    description: Name of the user and of its group.
    type: str
    required: true
  home:
    description: The home that stands in its entry; it is not made.
    type: path
    default: /nonexistent
  shell:
    description: Its login shell.
    type: path
    default: /usr/sbin/nologin
  settled:
    description: Set by the action of the same name, to note on the host that this is done, for the next run to know.
    type: dict
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Create the exporters' user
  system_user:
    name: rackmark-exporter
"""

RETURN = r"""#"""

import grp
import pwd

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import settled


def command_for(name: str, home: str, shell: str) -> list[str]:
    """What makes the user as asked for; empty where it is so."""
    entry = ["--home-dir", home, "--shell", shell]
    try:
        present = pwd.getpwnam(name)
    except KeyError:
        group = ["--gid", name] if name in {entry.gr_name for entry in grp.getgrall()} else ["--user-group"]
        return ["useradd", "--system", *group, "--no-create-home", *entry, name]
    if (present.pw_dir, present.pw_shell) == (home, shell):
        return []
    return ["usermod", "--home", home, "--shell", shell, name]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "home": {"type": "path", "default": "/nonexistent"},
            "shell": {"type": "path", "default": "/usr/sbin/nologin"},
            "settled": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    name, home, shell = (module.params[option] for option in ("name", "home", "shell"))
    command = command_for(name, home, shell)
    if not module.check_mode:
        if command:
            status, output, errors = module.run_command(command)
            if status != 0:
                module.fail_json(msg=f"'{' '.join(command)}' failed: {(errors or output).strip()}")
        settled.note(module.params["settled"], accounts=[name])
    module.exit_json(changed=bool(command))


if __name__ == "__main__":
    main()

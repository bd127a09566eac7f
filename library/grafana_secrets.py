#!/usr/bin/python
"""Ansible module: the secrets of Grafana."""

from __future__ import annotations

DOCUMENTATION = r"""
module: grafana_secrets
short_description: Make Grafana's secrets, and put a new administrator's password into force
description:
  - Keeps the password of Grafana's administrator and the key with which Grafana encrypts what is in its database in
    files that root and Grafana can read. What is missing is made up here; no argument, result or difference holds it.
  - Grafana takes the password from its file when it makes its database. Once there is one, a new password is given to
    C(reset_command), through its standard input. A run that is cut off in between is finished by the next.
  - The key never changes, since Grafana could no longer read what it encrypted with the old one.
options:
  password:
    description: The password to use; otherwise the one that is there, or a new one.
    type: str
  rotate:
    description: Use a new password though there is one, unless C(password) says which.
    type: bool
    default: false
  reset_command:
    description: Command that gives Grafana the password in the first line of its standard input.
    type: list
    elements: str
    required: true
  folder:
    description: Where the files rackmark-admin-password and rackmark-secret-key are.
    type: path
    default: /etc/grafana
  database:
    description: Grafana's database.
    type: path
    default: /var/lib/grafana/grafana.db
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: The files hold secrets.
"""

EXAMPLES = r"""
- name: Make Grafana's secrets
  grafana_secrets:
    reset_command: [grafana, cli, admin, reset-admin-password, --password-from-stdin]
"""

RETURN = r""" # """

import secrets
from dataclasses import dataclass
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import host_files, password_rules
from ansible.module_utils.rackmark.host_files import Change, Wanted

KEY, PASSWORD = "rackmark-secret-key", "rackmark-admin-password"
UNFINISHED = f"{PASSWORD}.next"  # a password that Grafana may have been told of, or not


@dataclass(frozen=True)
class Secrets:
    """The files with Grafana's secrets, each with one line."""

    module: AnsibleModule

    def path(self, name: str) -> Path:
        return Path(self.module.params["folder"]) / name

    def read(self, name: str) -> str:
        return (host_files.read(self.path(name)) or "").strip()

    def write(self, name: str, value: str) -> bool:
        """Whether the file was not as it should be."""
        change = Change(Wanted(self.path(name), content=f"{value}\n", group="grafana", mode="0640"))
        needed = change.needed
        if needed and not self.module.check_mode:
            host_files.make([change], self.module.run_command)
        return needed


def settle_password(module: AnsibleModule, files: Secrets) -> bool:
    present, unfinished = files.read(PASSWORD), files.read(UNFINISHED)
    made_up = "" if module.params["rotate"] else unfinished or present
    password = module.params["password"] or made_up or secrets.token_urlsafe(24)
    is_new = password != present or bool(unfinished)
    if is_new:
        files.write(UNFINISHED, password)
    changes = files.write(PASSWORD, password)
    if is_new and not module.check_mode:
        if Path(module.params["database"]).exists():
            tell_grafana(module, password)
        files.path(UNFINISHED).unlink()
    return changes or is_new


def tell_grafana(module: AnsibleModule, password: str) -> None:
    command = module.params["reset_command"]
    status, output, errors = module.run_command(command, data=password, cwd="/")
    if status != 0:
        said = (output + errors).replace(password, "********").strip().splitlines()[-4:]
        raise ValueError(
            f"Grafana does not take its administrator's new password: {' / '.join(said)}. The next run"
            f" tries again; what it runs is '{' '.join(command)}'."
        )


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "password": {"type": "str", "no_log": True},
            "rotate": {"type": "bool", "default": False},
            "reset_command": {"type": "list", "elements": "str", "required": True, "no_log": False},
            "folder": {"type": "path", "default": "/etc/grafana"},
            "database": {"type": "path", "default": "/var/lib/grafana/grafana.db"},
        },
        supports_check_mode=True,
    )
    files = Secrets(module)
    try:
        if module.params["password"]:
            password_rules.GRAFANA.check("grafana_admin_password", module.params["password"])
        changes = [files.write(KEY, files.read(KEY) or secrets.token_urlsafe(32)), settle_password(module, files)]
    except LookupError:
        module.fail_json(msg="There is no group grafana on this host: install Grafana first.")
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=any(changes))


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Ansible module: the database of slurmdbd, and the file that tells it the password."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_accounting_database
short_description: Give slurmdbd a database and its password
description:
  - Makes the database C(slurm_acct_db) and its user in the MariaDB of this host, and writes slurmdbd.conf with the
    user's password. The user may log in from this host only.
  - The password is made up here when there is none yet. It is in slurmdbd.conf and nowhere else; MariaDB is given its
    hash. It is in no argument, result or difference of this module.
  - MariaDB must let root in through its socket, as it does where the distribution installed it.
options:
  config:
    description: Everything of slurmdbd.conf but the password.
    type: str
    required: true
  password:
    description: The password to use, without spaces, quotes, backslash and C(#); otherwise the one that is there, or a
      new one.
    type: str
  rotate:
    description: Use a new password though there is one, unless C(password) says which.
    type: bool
    default: false
  path:
    description: Where slurmdbd reads its configuration.
    type: path
    default: /etc/slurm/slurmdbd.conf
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: The file holds a password.
"""

EXAMPLES = r"""
- name: Give slurmdbd its database
  slurm_accounting_database:
    config: "{{ lookup('ansible.builtin.template', 'slurmdbd.conf.j2') }}"

- name: Run slurmdbd with it
  running_service:
    name: slurmdbd
    restart_for: [/etc/slurm/slurmdbd.conf]
"""

RETURN = r"""
database_changed:
  description: Whether the database, its user or its password was not as it should be.
  type: bool
  returned: always
"""

import os
import shutil
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import host_files, password_rules, slurm_accounting
from ansible.module_utils.rackmark.host_files import Wanted


class Database:
    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.client = shutil.which("mariadb") or shutil.which("mysql")  # the name depends on the release

    def ask(self, statements: str) -> str:
        """Statements go through a pipe: nothing of them is in the list of processes."""
        command = [self.client or "mariadb", "--no-defaults", "--user=root", "--batch", "--skip-column-names"]
        status, output, errors = self.module.run_command(command, data=statements)
        if status != 0:
            raise ValueError(
                f"MariaDB does not do as asked ({errors.strip()}): 'systemctl status mariadb' on this host says whether"
                " it runs, and 'mariadb --user=root' whether it lets root in without a password."
            )
        return output


def choose_password(module: AnsibleModule, present: str | None) -> str:
    if module.params["password"]:
        password_rules.SLURMDBD.check("slurm_database_password", module.params["password"])
        return str(module.params["password"])
    return slurm_accounting.new_password() if module.params["rotate"] or not present else present


def settle(module: AnsibleModule) -> dict[str, bool]:
    path = Path(module.params["path"])
    old = host_files.read(path) or ""
    password = choose_password(module, slurm_accounting.password_in(old))
    wanted = Wanted(
        path,
        content=slurm_accounting.with_password(module.params["config"], password),
        owner=slurm_accounting.USER,
        group=slurm_accounting.USER,
        mode="0600",
    )
    file_changes = old != wanted.content or host_files.differs_in_rights(wanted)
    database = Database(module)
    if module.check_mode and not database.client:
        return {"changed": True, "database_changed": True}  # MariaDB is not installed yet

    database_changes = not slurm_accounting.is_ready(database.ask(slurm_accounting.QUESTION), password)
    if not module.check_mode:
        # The file is there in full before MariaDB changes its mind, and in place right after it has. Where this is cut
        # off between the two, the next run finds that the file's password is not MariaDB's and sets that again.
        prepared = host_files.Prepared(wanted, wanted.content or "") if file_changes else None
        try:
            if database_changes:
                database.ask(slurm_accounting.statements(password))
            if prepared:
                prepared.land()
            elif database_changes:
                os.utime(path)  # slurmdbd, which starts again for a newer file, has been refused by MariaDB
        finally:
            if prepared:
                prepared.discard()
    return {"changed": file_changes or database_changes, "database_changed": database_changes}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "config": {"type": "str", "required": True},
            "password": {"type": "str", "no_log": True},
            "rotate": {"type": "bool", "default": False},
            "path": {"type": "path", "default": "/etc/slurm/slurmdbd.conf"},
        },
        supports_check_mode=True,
    )
    try:
        result = settle(module)
    except LookupError:
        module.fail_json(msg="There is no user slurm on this host: install slurmdbd first.")
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()

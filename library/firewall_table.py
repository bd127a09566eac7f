#!/usr/bin/python
"""Ansible module: Rackmark's table of nftables."""

from __future__ import annotations

DOCUMENTATION = r"""
module: firewall_table
short_description: Keep a table of nftables loaded, now and after every boot
description:
  - Writes the rules, after C(nft) has accepted them, and the service that loads them at boot. A change is loaded as a
    whole, so that there is no moment without rules. A table that somebody has flushed is loaded again.
  - Other tables are not touched.
options:
  state:
    description: Whether there is a table.
    type: str
    choices: [present, absent]
    default: present
  rules:
    description: Rules for C(nft --file) that make the table C(inet rackmark), in place of one that is there.
    type: str
  unit:
    description: The unit rackmark-firewall.service.
    type: str
  drop_in:
    description: A drop-in for the distribution's nftables.service, which empties all tables.
    type: str
  settled:
    description: Set by the action of the same name, which passes over the task where an earlier run has noted that it is done.
    type: dict
attributes:
  action:
    support: full
  check_mode:
    support: full
  diff_mode:
    support: full
"""

EXAMPLES = r"""
- name: Load the firewall
  firewall_table:
    rules: "{{ lookup('ansible.builtin.template', 'rules.nft.j2') }}"
    unit: "{{ lookup('ansible.builtin.template', 'firewall.service.j2') }}"
    drop_in: "{{ lookup('ansible.builtin.template', 'nftables.service.j2') }}"

- name: Remove the firewall
  firewall_table:
    state: absent
"""

RETURN = r"""#"""

import shutil
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import settled
from ansible.module_utils.rackmark.host_files import Change, Wanted, make

NFT = "/usr/sbin/nft"
RULES = Path("/etc/rackmark/firewall.nft")
SERVICE = "rackmark-firewall.service"
UNIT = Path("/etc/systemd/system", SERVICE)
DROP_IN = Path("/etc/systemd/system/nftables.service.d/rackmark.conf")
TABLE = ["table", "inet", "rackmark"]


class Firewall:
    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.present = module.params["state"] == "present"
        texts = {RULES: module.params["rules"], UNIT: module.params["unit"], DROP_IN: module.params["drop_in"]}
        wanted = [
            Wanted(path, content=text) if self.present else Wanted(path, absent=True) for path, text in texts.items()
        ]
        checkers = {RULES: f"{NFT} --check --file %s"}
        changes = (Change(file, checkers.get(file.path)) for file in wanted)
        self.changes = [change for change in changes if change.needed]

    def says_yes(self, *command: str) -> bool:
        return bool(shutil.which(command[0])) and self.module.run_command(list(command))[0] == 0

    def run(self, *command: str) -> None:
        status, output, errors = self.module.run_command(list(command))
        if status != 0:
            raise ValueError(f"'{' '.join(command)}' failed: {(errors or output).strip()}")

    def is_loaded(self) -> bool:
        return self.says_yes(NFT, "list", *TABLE)

    def is_as_wanted(self) -> bool:
        if self.changes or self.is_loaded() != self.present:
            return False
        return not self.present or (
            self.says_yes("systemctl", "is-active", "--quiet", SERVICE)
            and self.says_yes("systemctl", "is-enabled", "--quiet", SERVICE)
        )

    def load(self) -> None:
        make(self.changes, self.module.run_command)
        self.run("systemctl", "daemon-reload")
        self.run("systemctl", "enable", "--quiet", SERVICE)
        self.run("systemctl", "reload-or-restart", SERVICE)

    def remove(self) -> None:
        if UNIT.exists():
            self.run("systemctl", "disable", "--quiet", "--now", SERVICE)
        make(self.changes, self.module.run_command)
        self.run("systemctl", "daemon-reload")
        if self.is_loaded():
            self.run(NFT, "delete", *TABLE)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "rules": {"type": "str"},
            "unit": {"type": "str"},
            "drop_in": {"type": "str"},
            "settled": {"type": "dict"},
        },
        required_if=[("state", "present", ["rules", "unit", "drop_in"])],
        supports_check_mode=True,
    )
    try:
        firewall = Firewall(module)
        changed = not firewall.is_as_wanted()
        diff = [change.diff() for change in firewall.changes]
        if changed and not module.check_mode:
            firewall.load() if firewall.present else firewall.remove()
        # Whether a table is loaded only nft knows.
        if not firewall.present and not module.check_mode:
            settled.note(module.params["settled"], files=[RULES, UNIT, DROP_IN])
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, diff=diff)


if __name__ == "__main__":
    main()

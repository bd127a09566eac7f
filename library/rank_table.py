#!/usr/bin/python
"""Ansible module: writes a rank table of Ascend, or checks anybody's."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rank_table
short_description: Write or check a rank table of Ascend's HCCL
description:
  - Writes the rank table for some hosts, in which the ranks follow the order of the hosts and of their devices. What
    HCCL would refuse is not written, and the module fails with all that is wrong.
  - With O(check), reads the table of that file, and returns what it says and all that is wrong with it. Fails only
    where there is no such file.
  - Runs on the controller.
options:
  format:
    description: Form of the table, V(1.0), V(1.2) for super pods, or the old V(lab) and V(tensorflow).
    type: str
    default: "1.0"
  hosts:
    description:
      - What is known of the hosts, in the order of their ranks, as the filters P(ascend_told_by_inventory#filter) and
        P(ascend_told_by_nodes#filter) give it.
    type: list
    elements: dict
    default: []
  devices:
    description: Numbers of the devices that take part on each host, as in V(0-3). Empty means all that it has.
    type: str
    default: ""
  dest:
    description: File to write.
    type: path
  check:
    description: File to check.
    type: path
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
author:
  - Rackmark
"""

EXAMPLES = r"""
- name: Write the rank table of all Ascend hosts
  rank_table:
    hosts: "{{ hostvars | ascend_told_by_inventory(groups['npu_nodes']) }}"
    dest: /srv/rank_table.json
  delegate_to: localhost

- name: Check the rank table of somebody else
  rank_table:
    check: /tmp/hccl_8p.json
  delegate_to: localhost
  register: checked

- name: Require a table that HCCL accepts
  ansible.builtin.assert:
    that: checked.problems == []
    fail_msg: "{{ checked.problems | join(' ') }}"
"""

RETURN = r"""
form:
  description: The form of the table, null where the file is none.
  type: str
  returned: success
lines:
  description: What the table says for a terminal, a line per server.
  type: list
  elements: str
  returned: success
problems:
  description: What HCCL would refuse the table for, a sentence each. Always empty for one that was written.
  type: list
  elements: str
  returned: success
remarks:
  description: What a reader should know besides, a sentence each.
  type: list
  elements: str
  returned: success
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.files import keep_files
from ansible.module_utils.rackmark.node.rank_table import read, written
from ansible.module_utils.rackmark.rank_tables import overview, servers_of


def text_of(path: Path) -> str:
    if not path.is_file():
        raise ValueError(f"{path} is {'a folder' if path.is_dir() else 'not there'}: name the file of a rank table.")
    return path.read_text(errors="replace")


def write(module: AnsibleModule, dest: Path) -> None:
    form, hosts = module.params["format"], module.params["hosts"]
    servers = servers_of(form, hosts, module.params["devices"])
    text = written(form, servers)
    if dest.is_dir():
        raise ValueError(f"{dest} is a folder: name the file to write, as in dest={dest}/rank_table.json.")
    before = dest.read_text(errors="replace") if dest.is_file() else ""
    table = read(text)
    if table.problems:
        raise ValueError("The table that was made is wrong. " + " ".join(table.problems))
    changed = keep_files(dest.parent, {dest.name: text.encode()}, only_look=module.check_mode)
    module.exit_json(
        changed=bool(changed),
        form=table.form,
        lines=overview(table, [server.name for server in servers]),
        problems=[],
        remarks=table.remarks,
        diff={"before_header": str(dest), "after_header": str(dest), "before": before, "after": text},
    )


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "format": {"type": "str", "default": "1.0"},
            "hosts": {"type": "list", "elements": "dict", "default": []},
            "devices": {"type": "str", "default": ""},
            "dest": {"type": "path"},
            "check": {"type": "path"},
        },
        required_one_of=[("dest", "check")],
        mutually_exclusive=[("dest", "check")],
        supports_check_mode=True,
    )
    try:
        if module.params["dest"]:
            write(module, Path(module.params["dest"]))
        table = read(text_of(Path(module.params["check"])))
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=False, form=table.form, lines=overview(table), problems=table.problems, remarks=table.remarks
    )


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Ansible module: what a host still has of roles that it no longer has."""

from __future__ import annotations

DOCUMENTATION = r"""
module: leftovers
short_description: Find what roles have left on a host that no longer has them
description:
  - A role leaves marks on a host, files that nobody else writes. This module looks for the marks that it is given, and
    returns those that are there. It changes nothing.
options:
  marks:
    description: Marks to look for. Further keys of an entry are returned as they are.
    type: list
    elements: dict
    required: true
    suboptions:
      paths:
        description: Files or folders, all of which are there where the role was.
        type: list
        elements: str
        required: true
      holds:
        description: A text that stands in the first of them.
        type: str
  settled:
    description: Set by the action of the same name, which passes over the task where an earlier run has found nothing.
    type: dict
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Look for a monitoring server that moved
  leftovers:
    marks:
      - role: prometheus
        paths: [/etc/systemd/system/prometheus.service.d/rackmark.conf]
  register: left
"""

RETURN = r"""
found:
  description: The entries of C(marks) whose files are there.
  type: list
  elements: dict
  returned: always
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import settled
from ansible.module_utils.rackmark.leftovers import is_there


def main() -> None:
    module = AnsibleModule(
        argument_spec={"marks": {"type": "list", "elements": "dict", "required": True}, "settled": {"type": "dict"}},
        supports_check_mode=True,
    )
    marks: list[dict[str, Any]] = module.params["marks"]
    try:
        found = [mark for mark in marks if is_there(mark["paths"], mark.get("holds") or "")]
        if not found and not module.check_mode:
            settled.note(module.params["settled"], files=[Path(path) for mark in marks for path in mark["paths"]])
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, found=found)


if __name__ == "__main__":
    main()

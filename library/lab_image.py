#!/usr/bin/python
"""Ansible module: the base image of virtual nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: lab_image
short_description: Build or remove the base image of the virtual cluster
description:
  - Builds a small Debian tree with debootstrap, from the mirror that this machine's own apt uses.
  - A complete image is left alone, so a second run changes nothing.
options:
  suite:
    description: Debian suite of the nodes.
    type: str
    required: true
  state_dir:
    description: Folder that holds images and virtual clusters.
    type: path
    required: true
  state:
    description: C(absent) removes the image.
    type: str
    choices: [present, absent]
    default: present
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Build the base image
  lab_image:
    suite: bookworm
    state_dir: /var/lib/rackmark
"""

RETURN = r"""
path:
  description: Where the image is.
  type: str
  returned: always
"""

import shutil
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.lab import carryover, host, image
from ansible.module_utils.rackmark.lab.spec import LabError


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "suite": {"type": "str", "required": True},
            "state_dir": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    suite, state_dir = module.params["suite"], Path(module.params["state_dir"])
    path = state_dir / "images" / suite
    wanted = module.params["state"] == "present"
    changed = path.exists() != wanted
    try:
        host.check_can_carry_a_lab()
        if changed and not module.check_mode and wanted:
            host.check_disk(state_dir, image.NEEDED_MB)
            image.build(path, suite, carryover.collect(suite, "", {}).mirror)
        elif changed and not module.check_mode:
            shutil.rmtree(path)
            host.remove_if_empty(path.parent, state_dir)
    except (LabError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, path=str(path))


if __name__ == "__main__":
    main()

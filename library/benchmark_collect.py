#!/usr/bin/python
"""Ansible module: logs and records of a run, packed. The action of the same name unpacks them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_collect
short_description: Copy logs and records of a run to the machine that Ansible runs on
description:
  - Copies the manifest, the program's code and what every repeat left, whatever became of it, in pieces of limited
    size.
  - Of a log above 64 MB it copies the first and the last MB and every line between that the run's dialect reads; a line
    where others are left out says where the whole log is. Numbers are the same as those of the whole log.
options:
  run_dir:
    description: Folder of the run on the host.
    type: path
    required: true
  dest:
    description: Folder for it on the machine that Ansible runs on.
    type: path
    required: true
  left:
    description: What is still to be copied; the action fills it in.
    type: dict
  texts:
    description: What the lines hold that the run's dialect reads; the action fills it in when it is needed.
    type: list
    elements: str
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Collect the logs
  benchmark_collect:
    run_dir: /userhome/rackmark/runs/{{ run_id }}
    dest: reports/runs/{{ run_id }}
"""

RETURN = r"""
files:
  description: Number of files.
  type: int
  returned: success
remarks:
  description: A sentence on logs of which not all was copied, and one on what TensorBoard can show, if there is any.
  type: list
  elements: str
  returned: success
"""

import base64
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.run.collecting import Left, boards, pack


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "run_dir": {"type": "path", "required": True},
            "dest": {"type": "path", "required": True},
            "left": {"type": "dict"},
            "texts": {"type": "list", "elements": "str"},
        },
        supports_check_mode=True,
    )
    run_dir, left, texts = Path(module.params["run_dir"]), module.params["left"], module.params["texts"]
    try:
        answer = pack(
            run_dir,
            None if left is None else Left(**left),
            None if texts is None else [text.encode() for text in texts],
        )
    except OSError as error:
        module.fail_json(msg=f"The logs in {run_dir} cannot be read: {error}.")
    module.exit_json(
        changed=True,
        archive=base64.b64encode(answer.archive).decode(),
        left=None if answer.left is None else answer.left._asdict(),
        needs_texts=answer.needs_texts,
        shortened=answer.shortened,
        boards=boards(run_dir),
    )


if __name__ == "__main__":
    main()

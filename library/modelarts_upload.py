#!/usr/bin/python
"""Documentation of the action modelarts_upload, which runs on the machine that Ansible runs on."""

from __future__ import annotations

DOCUMENTATION = r"""
module: modelarts_upload
short_description: Upload the code of a run to its own place in the bucket, showing how far it is
description:
  - Sends only what the bucket does not have, so that an upload that broke off goes on when the run is resumed.
  - Refuses code that is not what the run was begun with, a file that holds a key, and a link out of the folder.
  - In check mode nothing is sent; whether the code could be, is checked.
options:
  plan:
    description: The plan of the run. Without it only the code and the bucket are checked.
    type: dict
  run_dir:
    description: Folder of the run.
    type: path
  options:
    description: What the queue is told, as M(modelarts_settings) returns it.
    type: dict
    required: true
  secrets:
    description: Keys of the account from a vault; the environment's where they are empty.
    type: dict
    default: {}
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Upload the code
  modelarts_upload:
    plan: "{{ planned.plan }}"
    run_dir: ~/rackmark/runs/{{ planned.plan.run_id }}
    options: "{{ read.options }}"
"""

RETURN = r"""
sentence:
  description: What was sent, or would be.
  type: str
  returned: success
"""

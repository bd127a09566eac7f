#!/usr/bin/python
"""Ansible module: the uploaded code of a run, removed from its bucket."""

from __future__ import annotations

DOCUMENTATION = r"""
module: modelarts_clean
short_description: Remove the uploaded code of a run from its bucket
description:
  - Removes what is below C(rackmark/<run>/code/), and nothing else; results and logs stay. A run that is resumed sends
    its code again. Where the store refuses, the run is not spoilt, and a warning says so.
options:
  run_dir:
    description: Folder of the run.
    type: path
    required: true
  secrets:
    description: Keys of the account from a vault; the environment's where they are empty.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Remove the uploaded code
  modelarts_clean:
    run_dir: ~/rackmark/runs/20261118-101500-modelarts
"""

RETURN = r"""
removed:
  description: Number of objects that were removed.
  type: int
  returned: success
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.modelarts.errors import CredentialsError, StoreError
from ansible.module_utils.rackmark.modelarts.session import Session
from ansible.module_utils.rackmark.run.job_state import QueueError


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "run_dir": {"type": "path", "required": True},
            "secrets": {"type": "dict", "default": {}, "no_log": True},
        },
        supports_check_mode=True,
    )
    run = Session(Path(module.params["run_dir"]), {}, module.params["secrets"])
    removed = 0
    try:
        if not run.settings.keep_code and not module.check_mode:
            removed = run.store.delete(run.settings.bucket, f"{run.settings.prefix(run.run_id)}/code/")
    except (StoreError, CredentialsError, QueueError) as error:
        module.warn(f"The uploaded code stays in the bucket: {error}")
    module.exit_json(changed=removed > 0, removed=removed)


if __name__ == "__main__":
    main()

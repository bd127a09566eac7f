#!/usr/bin/python
"""Ansible module: the munge key of a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: munge_key
short_description: Read or install the munge key
description:
  - Without C(key), returns the host's key, or a new one of 1024 random bytes where there is none of that length or
    C(new) asks for one. Nothing is written.
  - With C(key), installs that key.
  - The file belongs to munge and only munge can read it. Without C(key) use C(no_log) on the task, since the result
    holds the key; with it nothing shows the key.
options:
  unreached:
    description:
      - Hosts that need the same key and will not be given it in this run. Where there are some, a key that was lost is
        not replaced; that would cut them off.
    type: list
    elements: str
    default: []
  host:
    description: Name of this host, as it would be among C(unreached).
    type: str
    default: ""
  key:
    description: The key in base64, 32 to 1024 bytes, as returned by this module on the controller.
    type: str
  new:
    description: Make up a new key even where there is one.
    type: bool
    default: false
  path:
    description: Where munge keeps its key.
    type: path
    default: /etc/munge/munge.key
  settled:
    description: Set by the action of the same name, which passes over the task where an earlier run has noted that it is done.
    type: dict
attributes:
  action:
    support: full
  check_mode:
    support: full
  diff_mode:
    support: none
    details: A key is never shown.
"""

EXAMPLES = r"""
- name: Read the controller's key, or make one up
  munge_key:
  register: cluster_key
  no_log: true

- name: Install the munge key on every host
  munge_key:
    key: "{{ cluster_key.key }}"
"""

RETURN = r"""
key:
  description: The key in base64.
  type: str
  returned: without C(key)
"""

import base64
import os
import pwd
import shutil
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import guarded_files, munge, settled
from ansible.module_utils.rackmark.hostlist import compact

KEY_BYTES = munge.LONGEST


def install(path: Path, key: bytes) -> None:
    """Munge never sees half a key, and the folder's owner, who is munge, cannot lead root elsewhere."""
    account = pwd.getpwnam("munge")
    beside = guarded_files.write_beside(path, key, 0o400, account.pw_uid, account.pw_gid)
    guarded_files.rename(beside, path.name)


def refuse_a_key_of_its_own(module: AnsibleModule, path: Path) -> None:
    """On a new cluster there is the key of munge's package, which nobody uses yet: other hosts may follow later."""
    unreached, host = module.params["unreached"], module.params["host"]
    was_lost = shutil.which("munged") is not None and not path.exists()
    if unreached and (host in unreached or was_lost):
        module.fail_json(
            msg=f"{host or 'This host'} has lost the cluster's munge key, and a new one would cut off"
            f" {compact(unreached)}, which this run leaves out. Run site.yml --tags munge without --limit."
        )


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "key": {"type": "str", "no_log": True},
            "new": {"type": "bool", "default": False},
            "unreached": {"type": "list", "elements": "str", "default": []},
            "host": {"type": "str", "default": ""},
            "path": {"type": "path", "default": "/etc/munge/munge.key"},
            "settled": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    path = Path(module.params["path"])
    try:
        present = path.read_bytes() if path.exists() else b""
        given = munge.decoded(module.params["key"]) if module.params["key"] is not None else None
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    if given is None:
        # The package makes a shorter key of its own on every host.
        keep = len(present) == KEY_BYTES and not module.params["new"]
        if not keep and not module.params["new"]:
            refuse_a_key_of_its_own(module, path)
        key = present if keep else os.urandom(KEY_BYTES)
        module.exit_json(changed=False, key=base64.b64encode(key).decode())

    if given != present and not module.check_mode:
        try:
            install(path, given)
        except (OSError, LookupError) as error:
            module.fail_json(msg=f"The munge key could not be written to {path}: {error}. Is munge installed?")
    if not module.check_mode:
        settled.note(module.params["settled"], files=[path])
    module.exit_json(changed=given != present)


if __name__ == "__main__":
    main()

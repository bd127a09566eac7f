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
attributes:
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

- name: Install it on every host
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
import shutil
import tempfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import munge

KEY_BYTES = munge.LONGEST


def install(path: Path, key: bytes) -> None:
    """Write beside and rename, so that munge never sees half a key; private from its first moment."""
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
    shutil.chown(name, "munge", "munge")
    os.chmod(name, 0o400)  # noqa: PTH101 - mkstemp gives a name
    os.replace(name, path)  # noqa: PTH105 - mkstemp gives a name


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "key": {"type": "str", "no_log": True},
            "new": {"type": "bool", "default": False},
            "path": {"type": "path", "default": "/etc/munge/munge.key"},
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
        key = present if keep else os.urandom(KEY_BYTES)
        module.exit_json(changed=False, key=base64.b64encode(key).decode())

    if given != present and not module.check_mode:
        try:
            install(path, given)
        except (OSError, LookupError) as error:
            module.fail_json(msg=f"The munge key could not be written to {path}: {error}. Is munge installed?")
    module.exit_json(changed=given != present)


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Ansible module: the unprivileged user that is the same on every host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_user
short_description: A user with the same number on every host, who may log in between them
description:
  - Makes the group and the user with a fixed number and no password.
  - Gives the user one SSH key for the whole cluster, and lets that key in. Other keys that are let in stay.
  - Without C(private_key) nothing is written; the host's key is returned, or a new one where there is none or
    C(new_key) asks for one. Use C(no_log) on the task, since the key is in its result or its options.
options:
  name:
    description: Name of the user and of its group.
    type: str
    required: true
  uid:
    description: Number of the user and of its group.
    type: int
    required: true
  private_key:
    description: The cluster's SSH key of this user, as returned by this module on one host.
    type: str
  new_key:
    description: Make up a new key even where there is one.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: A key is never shown.
"""

EXAMPLES = r"""
- name: Read the benchmark user's key on the controller, or make one up
  cluster_user:
    name: rackmark
    uid: 6100
  register: key
  no_log: true

- name: Make the benchmark user
  cluster_user:
    name: rackmark
    uid: 6100
    private_key: "{{ key.private_key }}"
  no_log: true
"""

RETURN = r"""
private_key:
  description: The SSH key.
  type: str
  returned: without private_key
"""

import grp
import pwd
import tempfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.host_files import Change, Wanted, make, read

KEY_NAME = "id_ed25519"


def command(module: AnsibleModule, *words: str, data: str | None = None) -> str:
    status, output, errors = module.run_command(list(words), data=data)
    if status != 0:
        module.fail_json(msg=f"'{' '.join(words)}' failed: {(errors or output).strip()}")
    return output


def new_key(module: AnsibleModule, user: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, KEY_NAME)
        command(module, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"{user} of the cluster", "-f", str(path))
        return path.read_text()


def public_key(module: AnsibleModule, private: str) -> str:
    """The public half; ssh-keygen reads keys from files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, KEY_NAME)
        path.touch(mode=0o600)
        path.write_text(private)
        return command(module, "ssh-keygen", "-y", "-f", str(path))


def check_numbers(module: AnsibleModule, name: str, uid: int) -> None:
    """Refuse a number that is somebody else's, and a user that has another number and may own files by it."""
    for kind, entries in (("user", pwd.getpwall()), ("group", grp.getgrall())):
        for entry in entries:
            entry_id = getattr(entry, "pw_uid" if kind == "user" else "gr_gid")
            if (entry[0] == name) != (entry_id == uid):
                module.fail_json(
                    msg=f"This host already has a {kind} {entry[0]!r} with number {entry_id}, and the cluster's {kind}"
                    f" {name!r} shall have {uid} everywhere: set cluster_user or cluster_user_uid to one that is free"
                    " on every host, or rename the one that is there."
                )


def make_account(module: AnsibleModule, name: str, uid: int) -> bool:
    check_numbers(module, name, uid)
    has_group = name in {entry.gr_name for entry in grp.getgrall()}
    has_user = name in {entry.pw_name for entry in pwd.getpwall()}
    if not module.check_mode:
        if not has_group:
            command(module, "groupadd", "--gid", str(uid), name)
        if not has_user:
            numbers = ("--uid", str(uid), "--gid", str(uid))
            # Locked with "*": nobody knows a password, and sshd still lets keys in.
            command(module, "useradd", *numbers, "--create-home", "--shell", "/bin/bash", "--password", "*", name)
    return not (has_group and has_user)


def key_files(module: AnsibleModule, home: Path, name: str, private: str) -> list[Wanted]:
    own = {"owner": name, "group": name}
    public = public_key(module, private)
    allowed = home / ".ssh/authorized_keys"
    return [
        Wanted(home / ".ssh", directory=True, mode="0700", **own),
        Wanted(home / ".ssh" / KEY_NAME, content=private, mode="0600", **own),
        Wanted(home / ".ssh" / f"{KEY_NAME}.pub", content=public, mode="0644", **own),
        Wanted(allowed, block=public, marker="# {mark} Rackmark: between the hosts of the cluster", mode="0600", **own),
    ]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "uid": {"type": "int", "required": True},
            "private_key": {"type": "str", "no_log": True},
            "new_key": {"type": "bool", "default": False, "no_log": False},
        },
        supports_check_mode=True,
    )
    name, uid, private = (module.params[option] for option in ("name", "uid", "private_key"))
    home = Path(next((entry.pw_dir for entry in pwd.getpwall() if entry.pw_name == name), f"/home/{name}"))
    if private is None:
        present = None if module.params["new_key"] else read(home / ".ssh" / KEY_NAME)
        module.exit_json(changed=False, private_key=present or new_key(module, name))

    changed = make_account(module, name, uid)
    private = private.rstrip() + "\n"  # Ansible strips the end of the text, and ssh refuses such a key
    try:
        outdated = [change for change in map(Change, key_files(module, home, name, private)) if change.needed]
        if not module.check_mode:
            # One by one: the folder has to be there, and its owner's, before what is in it.
            for change in outdated:
                make([change], module.run_command)
    except OSError as error:
        module.fail_json(msg=f"The SSH key of {name} could not be written: {error}")
    module.exit_json(changed=changed or bool(outdated))


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Ansible module: the unprivileged user that is the same on every host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_user
short_description: A user with the same number on every host, who may log in between them
description:
  - Makes the group and the user with a fixed number and no password.
  - Gives the user one SSH key for the whole cluster, and lets that key in. Other keys that are let in stay.
  - What lies in the user's home is read and written with that user's rights alone, whatever links are there. Something
    else in the place of a key's file, such as a link, is set aside.
  - Without C(private_key) nothing is written; the host's key is returned, or a new one where there is none that can be
    used, or C(new_key) asks for one. Use C(no_log) on that task, since the key is in its result.
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
  state:
    description: With C(withdrawn) the cluster's key is taken away from this host; the user stays.
    type: str
    choices: [present, withdrawn]
    default: present
  settled:
    description: Set by the action of the same name, to note on the host that this is done, for the next run to know.
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
- name: Read or generate the benchmark user's key on the controller
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
from ansible.module_utils.rackmark import login_key, settled
from ansible.module_utils.rackmark.as_user import as_user
from ansible.module_utils.rackmark.login_key import KEY_NAME


def command(module: AnsibleModule, *words: str) -> str:
    status, output, errors = module.run_command(list(words))
    if status != 0:
        raise ValueError(f"'{' '.join(words)}' failed: {(errors or output).strip()}")
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
        return command(module, "ssh-keygen", "-y", "-P", "", "-f", str(path))


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


def account_of(name: str) -> pwd.struct_passwd | None:
    return next((entry for entry in pwd.getpwall() if entry.pw_name == name), None)


def read_key(module: AnsibleModule, name: str) -> str:
    account = account_of(name)
    present = None
    if account and not module.params["new_key"]:
        home = Path(account.pw_dir)
        present = as_user(account, lambda: login_key.present_key(home))
    try:
        return present if present and public_key(module, present) else new_key(module, name)
    except ValueError:  # a passphrase, or no key at all: no host could use it
        return new_key(module, name)


def settle(module: AnsibleModule, name: str, uid: int, private: str) -> bool:
    private = private.rstrip() + "\n"  # Ansible strips the end of the text, and ssh refuses such a key
    public = public_key(module, private)
    made = make_account(module, name, uid)
    account = account_of(name)
    if account is None:
        return True  # check mode
    home = Path(account.pw_dir)
    return as_user(account, lambda: login_key.settle(home, name, private, public, module.check_mode)) or made


def looked_at(name: str) -> list[Path]:
    home = Path(pwd.getpwnam(name).pw_dir)
    return [home, *login_key.files(home)]


def withdraw(module: AnsibleModule, name: str) -> bool:
    account = account_of(name)
    if account is None:
        return False
    home = Path(account.pw_dir)
    return as_user(account, lambda: login_key.withdraw(home, name, module.check_mode))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "uid": {"type": "int", "required": True},
            "private_key": {"type": "str", "no_log": True},
            "new_key": {"type": "bool", "default": False, "no_log": False},
            "state": {"type": "str", "choices": ["present", "withdrawn"], "default": "present"},
            "settled": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    name, uid, private = (module.params[option] for option in ("name", "uid", "private_key"))
    try:
        if module.params["state"] == "withdrawn":
            module.exit_json(changed=withdraw(module, name))
        if private is None:
            module.exit_json(changed=False, private_key=read_key(module, name))
        changed = settle(module, name, uid, private)
        if not module.check_mode:
            settled.note(module.params["settled"], files=looked_at(name), accounts=[name])
        module.exit_json(changed=changed)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"{name} has no SSH key on this host: {error}")


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Ansible module: whether a folder is shared between hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
module: shared_storage
short_description: Check that a file written on one host is read on others
description:
  - C(write) on one host puts a small file with a random content into the user's own folder, as that user, who is the
    one whose jobs will write there. C(read) on the others finds it with the same content, or says what that host sees
    instead. C(remove) takes it away.
  - Every step has a time limit, so storage that hangs is a failure and not a wait.
  - In check mode nothing is written, and so nothing is read.
options:
  directory:
    description: The folder that is to be shared. The user has a folder of its own in it.
    type: path
    required: true
  user:
    description: Name of the user.
    type: str
    required: true
  writer:
    description: Name of the host that writes, for what is said.
    type: str
    required: true
  reader:
    description: Name of the host that reads, for what is said.
    type: str
  step:
    description: What to do.
    type: str
    choices: [write, read, remove]
    required: true
  probe:
    description: What C(write) returned.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Write on one host
  shared_storage:
    directory: /userhome
    user: rackmark
    writer: head
    step: write
  delegate_to: head
  run_once: true
  register: written

- name: Read on all
  shared_storage:
    directory: /userhome
    user: rackmark
    writer: head
    reader: "{{ inventory_hostname }}"
    step: read
    probe: "{{ written.probe }}"
"""

RETURN = r"""
probe:
  description: The file, for the other steps; empty in check mode.
  type: dict
  returned: when step is write
"""

import pwd
import secrets
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import nfs

PREFIX = ".rackmark-shared-"
STEP_SECONDS = 10
# File systems that keep what they have seen for a moment may show a new file that much later.
SEEN_SECONDS = 5
# A check that was killed may have left its file.
WRITE = 'find "$1" -maxdepth 1 -name "$2*" -mmin +60 -delete; umask 077; printf %s "$4" > "$1/$2$3"'


class Folder:
    """The user's folder in the shared one, seen with the user's eyes."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.shared: str = module.params["directory"]
        self.user: str = module.params["user"]
        self.path = f"{self.shared}/{self.user}"

    def run(self, script: str, *words: str) -> tuple[int, str, str]:
        """A script with the folder and further words, as the user, killed when it takes too long."""
        account = pwd.getpwnam(self.user)
        rights = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--init-groups"]
        limited = ["timeout", "--signal=KILL", str(STEP_SECONDS), "setpriv", *rights]
        command = [*limited, "sh", "-c", script, "sh", self.path, *words]
        status, output, errors = self.module.run_command(command, cwd="/")
        if status in (124, 137):
            return status, output, f"no answer in {STEP_SECONDS} s"
        return status, output, "".join(errors.splitlines()[-1:])

    def origin(self) -> str:
        """Where this host has the shared folder from."""
        for folder in [Path(self.shared), *Path(self.shared).parents]:
            mount = nfs.mounted_at(str(folder), nfs.MOUNTS.read_text())
            if mount:
                return f"{mount.source} ({mount.kind})"
        return "nowhere"


def write(folder: Folder) -> dict[str, str]:
    probe = {"name": secrets.token_hex(8), "token": secrets.token_hex(16), "origin": folder.origin()}
    status, _, said = folder.run(WRITE, PREFIX, probe["name"], probe["token"])
    if status != 0:
        writer = folder.module.params["writer"]
        folder.module.fail_json(
            msg=f"{folder.user} cannot write in {folder.path} on {writer} ({said}), which has {folder.shared} from"
            f" {probe['origin']}: mount the shared storage there, with a folder {folder.user} that belongs to"
            f" {folder.user}, or name the right one in cluster_shared_dir."
        )
    return probe


def read(folder: Folder, probe: dict[str, str]) -> None:
    deadline = time.monotonic() + SEEN_SECONDS
    while True:
        status, output, said = folder.run('cat "$1/$2$3"', PREFIX, probe["name"])
        if status == 0 and output == probe["token"]:
            return
        if time.monotonic() > deadline:
            break
        time.sleep(0.5)
    reader, writer = folder.module.params["reader"], folder.module.params["writer"]
    folder.module.fail_json(
        msg=f"{reader} does not see what {writer} wrote in {folder.path} ({said or 'its content is another one'}):"
        f" {reader} has {folder.shared} from {folder.origin()}, {writer} from {probe['origin']}. Mount the same storage"
        " on both, or let Rackmark do it with cluster_shared_storage: nfs."
    )


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "user": {"type": "str", "required": True},
            "writer": {"type": "str", "required": True},
            "reader": {"type": "str"},
            "step": {"type": "str", "choices": ["write", "read", "remove"], "required": True},
            "probe": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    step, probe = module.params["step"], module.params["probe"]
    if module.check_mode or (step != "write" and not probe):
        module.exit_json(changed=False, probe={})
    folder = Folder(module)
    try:
        if step == "write":
            probe = write(folder)
        elif step == "read":
            read(folder, probe)
        else:
            folder.run('rm -f "$1/$2$3"', PREFIX, probe["name"])
    except KeyError:
        module.fail_json(msg=f"This host has no user {folder.user}: run 'ansible-playbook site.yml --tags base' first.")
    module.exit_json(changed=False, probe=probe)


if __name__ == "__main__":
    main()

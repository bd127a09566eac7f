#!/usr/bin/python
"""Ansible module: the NFS mounts of a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nfs_mount
short_description: Mount folders of an NFS server, and mount again what went stale
description:
  - Mounts what is not mounted, and mounts anew what has other options than wanted or a stale handle.
  - Every step has a time limit. A server that does not answer is a failure within seconds and never a task that hangs.
  - Something else that is mounted in a folder's place is left alone and named.
  - That the mounts come back after a restart is up to fstab, which this module does not touch.
options:
  server:
    description: Address of the server, for folders that are to be mounted.
    type: str
  directories:
    description: Folders, at the same path on the server and here. They are made here where they are missing.
    type: list
    elements: path
    required: true
  options:
    description: Mount options.
    type: list
    elements: str
    default: []
  state:
    description: With C(absent) what NFS has mounted there is unmounted. A folder that is in use is left and named.
    type: str
    choices: [present, absent]
    default: present
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Mount the shared folder
  nfs_mount:
    server: 192.0.2.10
    directories: [/userhome]
    options: [vers=4.2, hard, nosuid, nodev]
"""

RETURN = r"""
mounted:
  description: Folders that were mounted by this run, with the reason.
  type: dict
  returned: success
  sample: {/userhome: was not mounted}
unmounted:
  description: Folders that were unmounted by this run.
  type: list
  elements: str
  returned: with state=absent
"""

import socket
from pathlib import Path
from typing import NoReturn

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import nfs

ANSWER_SECONDS = 5
MOUNT_SECONDS = 30


class Storage:
    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.server: str = module.params["server"]
        self.options: list[str] = module.params["options"]

    def limited(self, seconds: int, *command: str) -> tuple[int, str]:
        """Exit status, 124 or 137 when it took too long, and what the command said."""
        limit = ["timeout", "--kill-after=2", str(seconds)]
        status, output, errors = self.module.run_command([*limit, *command], environ_update={"LC_ALL": "C.UTF-8"})
        return status, (errors or output).strip()

    def reason_to_mount(self, path: str) -> str | None:
        """Why a folder has to be mounted, or mounted anew; None where all is well."""
        mount = nfs.mounted_at(path, nfs.MOUNTS.read_text())
        if mount is None:
            return "was not mounted"
        if not mount.kind.startswith("nfs") or mount.source != f"{self.server}:{path}":
            self.fail(
                f"{path} is mounted from {mount.source} ({mount.kind}) and should be from {self.server}:{path}: unmount"
                " it here and take it out of fstab, or set cluster_shared_storage to existing if it is the shared one."
            )
        lacking = mount.lacks(self.options)
        if lacking:
            return f"was mounted without {', '.join(lacking)}"
        status, said = self.limited(ANSWER_SECONDS, "stat", "--file-system", path)
        if status == 0:
            return None
        if "Stale" in said:
            return "had a stale handle"
        self.refuse_dead_server()
        return self.fail(
            f"{path} is mounted and does not answer within {ANSWER_SECONDS} s ({said or 'it hangs'}), although"
            f" {self.server} does: look at 'systemctl status nfs-server' and 'exportfs -v' there."
        )

    def refuse_dead_server(self) -> None:
        try:
            socket.create_connection((self.server, nfs.PORT), ANSWER_SECONDS).close()
        except OSError as error:
            self.fail(
                f"The NFS server {self.server} does not answer at port {nfs.PORT} ({error}): is it on, does its"
                " nfs-server run, does a firewall stand between?"
            )

    def unmount(self, path: str, reason: str) -> None:
        # A stale handle helps nobody who still holds it; anything else that is in use is not pulled away.
        stale = "stale" in reason
        status, said = self.limited(MOUNT_SECONDS, "umount", *(["--lazy", "--force"] if stale else []), path)
        if status != 0:
            self.fail(f"{path} {reason} and is in use ({said}): end what uses it ('fuser -vm {path}') and run again.")

    def leave(self, path: str) -> None:
        """Unmount for good. What hangs, since its server is gone, would hang for ever."""
        status, said = self.limited(ANSWER_SECONDS, "stat", "--file-system", path)
        self.unmount(
            path, "is no shared folder of this host any more" if status == 0 else f"had a stale handle ({said})"
        )

    def mount(self, path: str, reason: str) -> None:
        self.refuse_dead_server()
        if reason != "was not mounted":
            self.unmount(path, reason)
        Path(path).mkdir(parents=True, exist_ok=True)
        options = ",".join([*self.options, "retry=0"])
        status, said = self.limited(MOUNT_SECONDS, "mount", "-t", "nfs", "-o", options, f"{self.server}:{path}", path)
        if status == 0:
            return
        if "nfs4" not in nfs.FILE_SYSTEMS.read_text():
            self.fail(
                f"{path} cannot be mounted, since the kernel of this host has no NFS ({said}): install its modules, or"
                " share the folder in another way and set cluster_shared_storage to existing."
            )
        self.fail(
            f"{self.server}:{path} could not be mounted ({said or f'no answer in {MOUNT_SECONDS} s'}): 'exportfs -v'"
            " there must list this host's address as the server sees it."
        )

    def fail(self, sentence: str) -> NoReturn:
        self.module.fail_json(msg=sentence)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "server": {"type": "str"},
            "directories": {"type": "list", "elements": "path", "required": True},
            "options": {"type": "list", "elements": "str", "default": []},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ["server"])],
        supports_check_mode=True,
    )
    storage = Storage(module)
    if module.params["state"] == "absent":
        mounts = nfs.MOUNTS.read_text()
        left = [path for path in module.params["directories"] if nfs.is_mounted_at(path, mounts)]
        if not module.check_mode:
            for path in left:
                storage.leave(path)
        module.exit_json(changed=bool(left), unmounted=left)
    reasons = {path: storage.reason_to_mount(path) for path in module.params["directories"]}
    needed = {path: reason for path, reason in reasons.items() if reason}
    if not module.check_mode:
        for path, reason in needed.items():
            storage.mount(path, reason)
    module.exit_json(changed=bool(needed), mounted=needed)


if __name__ == "__main__":
    main()

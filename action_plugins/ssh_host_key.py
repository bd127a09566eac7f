"""Ansible action: whether the key that a host shows is to be trusted. Runs where Ansible runs."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.ssh_bootstrap import (
    CONNECT_SECONDS,
    BootstrapError,
    HostKey,
    Target,
    host_keys,
    known_name,
    last_words,
    trusted_key,
    vouched_key,
)


def shown_keys(target: Target) -> list[HostKey]:
    scan = ["ssh-keyscan", "-T", str(CONNECT_SECONDS), "-p", str(target.port), "-t", "ed25519,ecdsa,rsa"]
    done = subprocess.run([*scan, target.address], capture_output=True, text=True, check=False)
    keys = host_keys(done.stdout)
    if not keys:
        raise BootstrapError(
            f"{target} cannot be reached with SSH: {last_words(done.stderr)}. Is it on, is ansible_host right, does its"
            " sshd run, does a firewall stand between?"
        )
    return keys


def known_keys(target: Target) -> list[HostKey]:
    if not target.known_hosts.exists():
        return []
    find = ["ssh-keygen", "-F", known_name(target.address, target.port), "-f", str(target.known_hosts)]
    return host_keys(subprocess.run(find, capture_output=True, text=True, check=False).stdout)


def record(target: Target, key: HostKey) -> None:
    """One line more; several hosts are at it at the same time."""
    target.known_hosts.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(target.known_hosts, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        file.write(("" if not text or text.endswith("\n") else "\n") + key.line(target.address, target.port) + "\n")


class ActionModule(ActionBase):
    """Documented in library/ssh_host_key.py."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        args = self._task.args
        target = Target(
            host=(task_vars or {})["inventory_hostname"],
            address=args["address"],
            port=int(args["port"]),
            user="",
            key=Path(),
            known_hosts=Path(args["known_hosts"]).expanduser(),
        )
        try:
            shown = shown_keys(target)
            vouched = vouched_key(target, shown, args["fingerprint"]) if args.get("fingerprint") else None
            trusted = trusted_key(target, shown, known_keys(target))
            new = vouched is not None and trusted is None
            if vouched and new and not self._task.check_mode:
                record(target, vouched)
        except (BootstrapError, OSError) as error:
            return {**result, "failed": True, "msg": str(error)}
        key = trusted or vouched or shown[0]
        return {
            **result,
            "changed": new,
            "trusted": bool(trusted or vouched),
            "fingerprint": key.fingerprint,
            "shown": f"{target} {key.fingerprint} ({key.kind})",
        }

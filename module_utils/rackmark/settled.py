"""What a run found or made as it should be on a host, noted there, so that the next run need not log in for it.

A note names the task with a digest of its arguments, and what the task looked at: files with their content and rights,
packages, services. facts.yml asks in its one login which notes still hold. So a file edited by hand, a stopped service
or a removed package is found all the same. Notes do not outlive a restart of the host.
"""

from __future__ import annotations

import contextlib
import grp
import hashlib
import json
import os
import pwd
import re
import stat
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Sequence

from . import dpkg, guarded_files, services

FOLDER = Path("/run/rackmark-settled")
FIELDS = {"digest", "files", "accounts", "packages", "service", "until"}


def task_name(name: str) -> str:
    """A task's name as that of a file."""
    return re.sub(r"[^A-Za-z0-9.-]+", "_", name).strip("_.")


def digest(module: str, arguments: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([module, arguments], sort_keys=True, default=str).encode()).hexdigest()


def note(
    told: Mapping[str, str] | None,
    files: Iterable[Path] = (),
    absent: Iterable[Path] = (),
    accounts: Iterable[str] = (),
    packages: Iterable[str] = (),
    service: Mapping[str, Any] | None = None,
    until: float | None = None,
    folder: Path = FOLDER,
) -> None:
    """That a task has nothing left to do. `told` has its name and digest, and is missing where nobody will ask."""
    if not told:
        return
    # It only saves time: a full or read-only /run, or a file that cannot be read, is no reason to fail.
    with contextlib.suppress(OSError, ValueError):
        claims = {
            "digest": told["digest"],
            "files": {**{str(path): signature(path) for path in files}, **{str(path): [None] for path in absent}},
            "accounts": {name: account(name) for name in accounts},
            "packages": list(packages),
            "service": service and {key: service[key] for key in ("name", "restart_for", "reload_for")},
            "until": until,
        }
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / told["task"]
        guarded_files.rename(guarded_files.write_beside(path, json.dumps(claims).encode(), 0o600), path.name)


def signature(path: Path) -> list[Any]:
    """Kind, rights and content of what is there; names of owners, since a user's number may change."""
    link = os.readlink(path) if path.is_symlink() else None
    state = guarded_files.state(path)
    if state is None:
        return [link]
    content = guarded_files.read(path) if stat.S_ISREG(state.st_mode) else None
    checksum = None if content is None else hashlib.sha256(content).hexdigest()
    return [link, state.st_mode, _name(pwd.getpwuid, state.st_uid), _name(grp.getgrgid, state.st_gid), checksum]


def account(name: str) -> list[Any] | None:
    """A user's entry and the number of the group of that name; None where one of them is missing."""
    try:
        return [*pwd.getpwnam(name), grp.getgrnam(name).gr_gid]
    except KeyError:
        return None


def _name(look_up: Callable[[int], Sequence[Any]], number: int) -> str | int:
    try:
        return str(look_up(number)[0])
    except KeyError:
        return number


def holding(folder: Path = FOLDER) -> dict[str, str]:
    """Digests by task of the notes that still hold."""
    notes = _notes(folder)
    running = _running([claims["service"]["name"] for claims in notes.values() if claims["service"]])
    packages = _packages() if any(claims["packages"] for claims in notes.values()) else {}
    return {task: claims["digest"] for task, claims in notes.items() if _holds(claims, packages, running)}


def _notes(folder: Path) -> dict[str, Any]:
    found = {}
    with contextlib.suppress(OSError):
        if folder.stat().st_uid != os.geteuid():
            return {}
        for path in sorted(folder.iterdir()):
            with contextlib.suppress(ValueError):
                claims = json.loads(path.read_bytes())
                if isinstance(claims, dict) and claims.keys() == FIELDS:  # another release may have noted otherwise
                    found[path.name] = claims
    return found


def _holds(claims: Mapping[str, Any], packages: Mapping[str, str] | None, running: Mapping[str, Any]) -> bool:
    if claims["until"] is not None and claims["until"] < time.time():
        return False
    if claims["packages"] and (packages is None or dpkg.missing(claims["packages"], packages)):
        return False
    service = claims["service"]
    if service and not _runs(service, running.get(service["name"])):
        return False
    if any(account(name) != seen for name, seen in claims["accounts"].items()):
        return False
    try:
        return all(signature(Path(path)) == seen for path, seen in claims["files"].items())
    except (OSError, ValueError):  # the task itself says what is wrong with it
        return False


def _packages() -> dict[str, str] | None:
    """Versions by name, None where dpkg has something to finish."""
    status = dpkg.STATUS.read_text(encoding="utf-8", errors="replace") if dpkg.STATUS.exists() else ""
    return None if dpkg.interrupted(status) else dpkg.installed_versions(status)


def _running(names: list[str]) -> dict[str, services.Service]:
    if not names:
        return {}
    command = ["systemctl", "show", f"--property={','.join(services.PROPERTIES)}", *names]
    shown = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    states = [services.parse(part, time.time(), time.monotonic()) for part in shown.strip().split("\n\n")]
    return dict(zip(names, states)) if len(states) == len(names) else {}


def _runs(wanted: Mapping[str, Any], service: services.Service | None) -> bool:
    if service is None or not service.exists or not service.enabled:
        return False
    restart_for, reload_for = (services.written(wanted[kind]) for kind in ("restart_for", "reload_for"))
    return not services.action(service, restart_for, reload_for, time.time())

"""Run as an unprivileged user beside a playbook: tries to read, and to exchange, what others put into shared places.

Prints what it succeeded in. It ends when its standard input does.
"""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/etc/slurm", "/etc/munge", "/var/lib/prometheus/node-exporter")
PUBLIC = ("/run", "/etc/slurm", "/var/lib/prometheus/node-exporter")  # readable by all, and nothing secret in them


def attack(path: Path, me: int) -> str:
    try:
        state = path.lstat()
    except OSError:
        return ""
    if state.st_uid == me or path.name.endswith("-unix"):  # folders for sockets of X, open to all by purpose
        return ""
    for name, act in {
        "renamed": lambda: path.rename(path.with_name(f"{path.name}.taken")),
        "linked over": lambda: path.with_name(f".{path.name}.x").symlink_to("/etc/passwd"),
        "read": lambda: path.is_file() and str(path.parent) not in PUBLIC and path.read_bytes(),
        "listed": lambda: path.is_dir() and str(path.parent) not in PUBLIC and list(path.iterdir()),
    }.items():
        if name == "linked over" and str(path.parent) in ("/tmp", "/var/tmp", "/dev/shm"):
            continue  # there everybody may make a link; whoever follows it is to blame, which the others show
        try:
            if act() is not False:
                return f"{name} {path} of {state.st_uid}"
        except OSError:
            continue
    return ""


def main() -> None:
    said: set[str] = set()
    while not select.select([sys.stdin], [], [], 0.002)[0]:
        for place in PLACES:
            try:
                paths = list(Path(place).iterdir())
            except OSError:
                continue
            for path in paths:
                done = attack(path, os.getuid())
                if done and done not in said:
                    said.add(done)
                    print(done, flush=True)


main()

"""Slurm's own word on a whole configuration, before it is in force.

A slurmctld of its own, in a network and process space of its own, reads it and goes so far as to be in charge. The copy
that it reads differs from the real one only in what could reach beyond that space.
"""

from __future__ import annotations

import re
from typing import Mapping

# Where the trial keeps what the real one keeps elsewhere.
_OWN = {"statesavelocation": "state", "slurmctldpidfile": "pid", "slurmctldlogfile": "log"}
# It is the only controller, and has no database and nobody to tell.
_LEFT_OUT = re.compile(
    r"(slurmctldhost|controlmachine|controladdr|backupcontroller|backupaddr|accountingstorage\w+|jobcomp\w+)\Z"
)
# Programs that a controller starts when it begins to work.
_PROGRAMS = re.compile(r"(slurmctldprimary(on|off)prog|suspendprogram|resumeprogram|resumefailprogram|rebootprogram)\Z")

# A network with an address but no way out: without one no name is looked up, not even in /etc/hosts.
COMMAND = (
    "unshare --net --pid --fork sh -c"
    " 'ip link set lo up && ip addr add 192.0.2.1/32 dev lo && exec slurmctld -D -c -v -f \"$0\"'"
)
_IN_CHARGE = "Running as primary controller"
_FATAL = "fatal: "


def trial_copy(text: str, folder: str, hostname: str) -> str:
    kept = [f"SlurmctldHost={hostname}", "AccountingStorageType=accounting_storage/none"]
    for line in text.splitlines():
        key, equals, _ = line.partition("=")
        name = key.strip().lower()
        if equals and _LEFT_OUT.match(name):
            continue
        if equals and name in _OWN:
            line = f"{key.strip()}={folder}/{_OWN[name]}"
        elif equals and _PROGRAMS.match(name):
            line = f"{key.strip()}=/bin/true"
        kept.append(line)
    return "\n".join(kept) + "\n"


def is_in_charge(said: str) -> bool:
    return _IN_CHARGE in said


def refusal(said: str) -> str | None:
    """Why slurmctld ended, None where it has not said so: its fatal line, and the one before that led to it."""
    lines = [re.sub(r"^(\[[^\]]*\] )?(slurmctld: )?", "", line) for line in said.splitlines()]
    for number, line in enumerate(lines):
        if line.startswith(_FATAL):
            before = lines[number - 1] if number and not lines[number - 1].startswith("NOTE") else ""
            reason = line[len(_FATAL) :]
            return f"{reason} ({before.replace('error: ', '', 1)})" if "invalid" in before.lower() else reason
    return None


def slurm_user(parameters: Mapping[str, str]) -> str:
    return parameters.get("slurmuser", "root")

"""Nodes, partitions, CPUs and devices, as `scontrol show nodes` prints them."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from .cache import Answer
from .command import SlurmError, ask, words

COMMAND = ("scontrol", "--all", "--oneliner", "show", "nodes")

# A node is in exactly one of them.
STATES = (
    "idle",
    "mixed",
    "allocated",
    "completing",
    "planned",
    "reserved",
    "maintenance",
    "rebooting",
    "power_saving",
    "not_responding",
    "drained",
    "draining",
    "down",
    "fail",
    "unknown",
)
OUT_OF_SERVICE = ("drained", "draining", "down", "fail")
_LONGEST_REASON = 200

# Slurm before 20.11 writes some flags as a sign after the base state, and some in its place.
_SIGNS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
_OTHER_NAMES = {
    "MAINT": "MAINTENANCE",
    "POWER": "POWERED_DOWN",
    "INVAL": "INVALID_REG",
    "DRAINED": "DRAIN",
    "FAILING": "FAIL",
    "PLND": "PLANNED",
}
_POWER = {"POWERED_DOWN", "POWERING_DOWN", "POWERING_UP"}
_NO_RESUME = "ResumeTimeout"  # how slurmctld's reason begins for a node that did not come back when it had to
_AT_WORK = {"MIXED": "mixed", "ALLOCATED": "allocated"}


class OutOfService(NamedTuple):
    node: str
    state: str
    reason: str


class Nodes(NamedTuple):
    states: dict[str, int]
    partitions: dict[str, dict[str, int]]  # states by partition
    cpus: dict[str, int]
    devices: dict[tuple[str, str], int]  # by partition and type
    out_of_service: list[OutOfService]
    powered_down: list[str]  # those that need not answer, because Slurm saves their power


def flags_of(text: str) -> set[str]:
    """A state and its flags, of MIXED+DRAIN or IDLE* for example."""
    flags: set[str] = set()
    for part in text.upper().split("+"):
        name = part.rstrip("".join(_SIGNS))
        flags.update(_SIGNS[sign] for sign in part[len(name) :])
        flags.add(_OTHER_NAMES.get(name, name))
    return flags


def state_of(flags: set[str]) -> str:
    """One word for them. The order is that of sinfo, but what is down for a purpose is not down."""
    at_work = next((word for base, word in _AT_WORK.items() if base in flags), None)
    if "INVALID_REG" in flags and "DRAIN" not in flags:
        return "down"  # what it has is not what is configured, and Slurm gives it no job
    if "MAINTENANCE" in flags and not at_work and "DRAIN" not in flags:
        return "maintenance"
    if flags & {"REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED"} and not at_work:
        return "rebooting"
    if "DRAINING" in flags or ("DRAIN" in flags and (at_work or "COMPLETING" in flags)):
        return "draining"
    if "DRAIN" in flags:
        return "drained"
    if "FAIL" in flags:
        return "fail"
    if flags & _POWER and not at_work:
        return "power_saving"
    if flags & {"DOWN", "ERROR"}:
        return "down"
    if "NOT_RESPONDING" in flags and "UNKNOWN" not in flags:
        return "not_responding"
    if at_work:
        return at_work
    if "COMPLETING" in flags:
        return "completing"
    if flags & {"RESERVED", "BLOCKED"}:
        return "reserved"
    if "PLANNED" in flags:
        return "planned"
    return "idle" if "IDLE" in flags else "unknown"


def ask_nodes(limit: float) -> Answer:
    return Answer(parse_nodes(ask(COMMAND, limit)))


def parse_nodes(output: bytes) -> Nodes:
    # A line that begins otherwise goes on with the reason of the node before.
    lines = [line for line in output.decode(errors="replace").split("\n") if line.startswith("NodeName=")]
    if not lines:
        said = words(output[:200].decode(errors="replace"), 100)
        raise SlurmError(
            f"'{' '.join(COMMAND)}' lists no node but prints '{said}'. With PrivateData=nodes in slurm.conf this"
            " user has to be an operator of Slurm to see any."
        )
    states = dict.fromkeys(STATES, 0)
    partitions: dict[str, dict[str, int]] = {}
    cpus = {"allocated": 0, "idle": 0, "other": 0, "total": 0}
    devices: Counter[tuple[str, str]] = Counter()
    out: list[OutOfService] = []
    powered_down: list[str] = []
    for line in lines:
        flags = flags_of(_value(line, "State"))
        state = state_of(flags)
        if flags & _POWER:
            powered_down.append(_value(line, "NodeName"))
            if "DOWN" in flags and state == "power_saving" and _reason(line).startswith(_NO_RESUME):
                state = "down"
        states[state] += 1
        _count_cpus(cpus, line, usable=state not in (*OUT_OF_SERVICE, "not_responding", "unknown"))
        names = [name for name in _value(line, "Partitions", missing="").split(",") if name]
        gres = devices_of(_value(line, "Gres", missing=""))
        for name in names:
            partitions.setdefault(name, dict.fromkeys(STATES, 0))[state] += 1
            for kind, count in gres.items():
                devices[name, kind] += count
        if state in OUT_OF_SERVICE:
            out.append(OutOfService(_value(line, "NodeName"), state, _reason(line)))
    return Nodes(states, partitions, cpus, dict(devices), out, powered_down)


def devices_of(gres: str) -> dict[str, int]:
    """Devices by the name of their kind, of gpu:a100:8(S:0-1),nic:2 for example."""
    found: Counter[str] = Counter()
    for part in re.sub(r"\([^)]*\)", "", gres).split(","):
        kind, *_, count = part.split(":") if ":" in part else (part, "1")
        if kind and kind != "null":
            found[kind] += amount(count)
    return dict(found)


def amount(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMGT]?)", text)
    if not match:
        raise SlurmError(f"{text!r} is no number of devices or CPUs.")
    return int(match[1]) << 10 * " KMGT".index(match[2] or " ")


def _value(line: str, key: str, missing: str | None = None) -> str:
    match = re.search(rf"(?:^|\s){key}=(\S*)", line)
    if match:
        return match[1]
    if missing is None:
        raise SlurmError(f"'{' '.join(COMMAND)}' prints a node without {key}: '{words(line, 100)}'.")
    return missing


def _count_cpus(cpus: dict[str, int], line: str, usable: bool) -> None:
    # CPUs that are kept for the system are in CPUTot, and no job gets them.
    total = amount(_value(line, "CPUEfctv", missing="") or _value(line, "CPUTot"))
    allocated = amount(_value(line, "CPUAlloc"))
    cpus["total"] += total
    cpus["allocated"] += allocated
    cpus["idle" if usable else "other"] += max(0, total - allocated)


def _reason(line: str) -> str:
    _, _, text = line.partition(" Reason=")
    # Who gave it and when, in brackets behind its first line.
    return words(re.sub(r" \[[^\s\[\]@]+@[^\s\]]*\]", "", text, count=1), _LONGEST_REASON)

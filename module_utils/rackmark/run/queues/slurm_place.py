"""The nodes that Slurm shows, and which of them a run can have."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Collection

from ...node.vendors import NONE, vendor_of_gres
from ..place import Place, device_for

SINFO_FORMAT = "%N|%T|%G|%c|%E"  # name, state, generic resources, processors, reason

_TAKES_JOBS = {"idle", "allocated", "mixed", "completing", "planned", "reserved"}


@dataclass(frozen=True)
class _Node:
    name: str
    accelerator: str
    resource: str
    devices: int
    cpus: int


def place_in_slurm(sinfo: str, devices_per_node: int, device: str, simulated: Collection[str]) -> Place:
    """`devices_per_node` and `device` overrule what Slurm says; 0 and "auto" leave it to Slurm."""
    rows = {row.split("|")[0]: row.split("|", 4) for row in sinfo.splitlines() if row.count("|") >= 4}
    fit = [_node(name, gres, int(cpus)) for name, state, gres, cpus, _ in rows.values() if _takes_jobs(state)]
    unfit = [
        f"{name} is {state}" + (f" ({reason.strip()})" if reason.strip() != "none" else "")
        for name, state, _, _, reason in rows.values()
        if not _takes_jobs(state)
    ]
    if not rows:
        raise ValueError("Slurm shows no nodes in this partition: name another one with benchmark_partition.")
    if not fit:
        raise ValueError(f"No node can take jobs: {'; '.join(unfit)}.")
    accelerator = Counter(node.accelerator for node in fit).most_common(1)[0][0]
    equal = [node for node in fit if node.accelerator == accelerator]
    return Place(
        nodes=len(equal),
        devices_per_node=devices_per_node or min(node.devices for node in equal),
        accelerator=accelerator,
        resource=equal[0].resource,
        device=device_for(device, accelerator, simulated),
        cpus=min(node.cpus for node in equal),
        unfit=unfit + [f"{node.name} has other devices ({node.accelerator})" for node in fit if node not in equal],
    )


def _takes_jobs(state: str) -> bool:
    """Slurm marks states: `idle*` does not answer, but planned, completing and power-saving nodes are no worse."""
    return state.rstrip("+-~#%") in _TAKES_JOBS


def _node(name: str, gres: str, cpus: int) -> _Node:
    """Reads `gpu:nvidia:8(S:0-1)`, `gpu:4`, `npu:8`; a node without such a resource counts as one device."""
    for entry in re.sub(r"\([^)]*\)", "", gres).split(","):
        kind, *rest = entry.split(":")
        vendor = vendor_of_gres(entry)
        if vendor != NONE and rest and rest[-1].isdecimal():
            return _Node(name, vendor, kind, int(rest[-1]), cpus)
    return _Node(name, NONE, "", 1, cpus)

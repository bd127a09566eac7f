"""Where a run can take place: the nodes that can take jobs, and the devices on them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Collection, Sequence

SINFO_FORMAT = "%N|%T|%G|%c|%E"  # name, state, generic resources, processors, reason

_TAKES_JOBS = {"idle", "allocated", "mixed", "completing", "planned", "reserved"}
_DEVICE_OF = {"nvidia": "cuda", "ascend": "npu", "none": "cpu"}
DEVICES = tuple(sorted(_DEVICE_OF.values()))


@dataclass(frozen=True)
class Place:
    """`device` is what ranks train on, `accelerator` what each node must show, `resource` what Slurm calls it.

    `cpus` are the processors of each node as far as they are known, `unfit` says which nodes are left out.
    """

    nodes: int
    devices_per_node: int
    accelerator: str = "none"
    resource: str = ""
    device: str = "cpu"
    cpus: int | None = None
    unfit: Sequence[str] = field(default=())


@dataclass(frozen=True)
class _Node:
    name: str
    accelerator: str
    resource: str
    devices: int
    cpus: int


def place_without_slurm(hosts: int, devices_per_node: int, accelerator: str, device: str) -> Place:
    return Place(
        nodes=hosts,
        devices_per_node=devices_per_node or 1,
        accelerator=accelerator,
        device=_device(device, accelerator, simulated=()),
    )


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
        device=_device(device, accelerator, simulated),
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
        if kind in ("gpu", "npu") and rest and rest[-1].isdecimal():
            ascend = kind == "npu" or "ascend" in entry
            return _Node(name, "ascend" if ascend else "nvidia", kind, int(rest[-1]), cpus)
    return _Node(name, "none", "", 1, cpus)


def _device(wanted: str, accelerator: str, simulated: Collection[str]) -> str:
    """Simulated accelerators are handed out like real ones, and processors do their work."""
    if wanted != "auto":
        if wanted not in DEVICES:
            raise ValueError(f"benchmark_device is {wanted!r}: use auto, {', '.join(DEVICES)}.")
        return wanted
    return "cpu" if "accelerators" in simulated else _DEVICE_OF[accelerator]

"""Where a run can take place: the nodes that can take jobs, and the devices on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Collection, Sequence

from ..node.vendors import CPU, DEVICES, NONE, device_of


@dataclass(frozen=True)
class Place:
    """`device` is what ranks train on, `accelerator` what each node must show, `resource` what Slurm calls it.

    `cpus` are the processors of each node as far as they are known, `unfit` says which nodes are left out, `simulated`
    what the queue itself only simulates.
    """

    nodes: int
    devices_per_node: int
    accelerator: str = NONE
    resource: str = ""
    device: str = CPU
    cpus: int | None = None
    unfit: Sequence[str] = field(default=())
    simulated: Sequence[str] = field(default=())


def place_of_hosts(hosts: int, devices_per_node: int, accelerator: str, device: str) -> Place:
    """Where nobody but the operator says what the hosts have."""
    return Place(
        nodes=hosts,
        devices_per_node=devices_per_node or 1,
        accelerator=accelerator,
        device=device_for(device, accelerator, simulated=()),
    )


def device_for(wanted: str, accelerator: str, simulated: Collection[str]) -> str:
    """Simulated accelerators are handed out like real ones, and processors do their work."""
    if wanted != "auto":
        if wanted not in DEVICES:
            raise ValueError(f"benchmark_device is {wanted!r}: use auto, {', '.join(DEVICES)}.")
        return wanted
    return CPU if "accelerators" in simulated else device_of(accelerator)

"""What the telemetry of a repeat adds to its numbers: its energy, and mean and max of everything for result.json."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Mapping, Sequence

from ..judging.result import Judged
from .columns import Extent
from .metered_energy import Energy
from .repeats import RepeatTelemetry
from .sampler_file import Device, NodeTelemetry

OF_NODE = ("cpu", "memory_mb", "received", "sent", "rdma_received", "rdma_sent", "read", "written", "host_w")
MEMORY = "device_memory_mb"
_COUNTED = "energy"  # as a counter it has no mean


def with_energies(judged: Sequence[Judged], telemetry: Sequence[RepeatTelemetry]) -> tuple[list[Judged], list[str]]:
    """The same repeats with their energies. Those of a case are of one kind: rarer ones are left out and named."""
    metered = [
        (one.result.case, seen.energy.of)
        for one, seen in zip(judged, telemetry)
        if one.result.state == "ok" and seen.energy.of is not None
    ]
    kinds = {case: Counter(of for name, of in metered if name == case).most_common(1)[0][0] for case, _ in metered}
    left_out = [
        f"The energy of {one.result.case} repeat {one.result.repeat} is left out: it is of {seen.energy.of}, that of"
        f" others of {kinds[one.result.case]}."
        for one, seen in zip(judged, telemetry)
        if one.result.state == "ok" and seen.energy.of not in (None, kinds.get(one.result.case))
    ]
    return [_with_energy(one, seen, kinds) for one, seen in zip(judged, telemetry)], left_out


def _with_energy(one: Judged, seen: RepeatTelemetry, kinds: Mapping[str, str | None]) -> Judged:
    joules, of = seen.energy.joules, seen.energy.of
    if one.result.state != "ok" or joules is None or of != kinds.get(one.result.case):
        return one
    per_joule = one.samples / joules if one.samples is not None and joules > 0 else None
    return replace(one, result=replace(one.result, energy_j=joules, samples_per_j=per_joule, energy_of=of))


def with_device_memory(judged: Sequence[Judged], telemetry: Sequence[RepeatTelemetry], device: str) -> list[Judged]:
    """The same repeats with the memory that the fullest device had in use while steps were measured, and has in all.
    `device` is what they trained on: the memory of a host is not that of a device."""
    return [
        _with_device_memory(one, seen) if one.result.state == "ok" and seen.nodes and device != "cpu" else one
        for one, seen in zip(judged, telemetry)
    ]


def _with_device_memory(one: Judged, seen: RepeatTelemetry) -> Judged:
    used = [
        (most, each.memory_mb)
        for node in seen.nodes.values()
        for each in node.devices
        if (most := node.series.extent(each.columns.get("memory_mb", "")).max) is not None
    ]
    if not used:
        missing = {**one.result.missing, MEMORY: _why_no_memory(seen)}
        return replace(one, result=replace(one.result, missing=missing))
    most, total = max(used, key=lambda known: known[0])
    return replace(one, result=replace(one.result, device_memory_mb=most, device_memory_total_mb=total))


def _why_no_memory(seen: RepeatTelemetry) -> str:
    for node in seen.nodes.values():
        for name, why in node.missing.items():
            of, _, what = name.partition(": ")
            if of.startswith("device") and what in ("", "memory", "memory_mb"):
                return why
    return "No telemetry tells the memory of the devices."


def telemetry_facts(seen: RepeatTelemetry) -> Mapping[str, Any] | None:
    """For result.json. Memory and rates are in MiB and MiB/s, temperatures in degrees C, clocks in MHz."""
    if not seen.nodes:
        return None
    return {
        "window": seen.window and {"begin": seen.window[0], "end": seen.window[1]},
        "energy": {
            "joules": seen.energy.joules,
            "of": seen.energy.of,
            "reason": seen.energy.reason,
            "remarks": seen.energy.remarks,
        },
        "remarks": [{"node": remark.node, "text": remark.text} for remark in seen.remarks],
        "nodes": {name: _of_node(node, seen.offsets.get(name)) for name, node in seen.nodes.items()},
    }


def _of_node(node: NodeTelemetry, offset: float | None) -> Mapping[str, Any]:
    return {
        "samples": node.series.samples_in_window,
        "seconds": node.seconds,
        "clock_offset_s": offset,
        **{name: _extent(node.series.extent(name)) for name in OF_NODE},
        "host_energy": _energy(node.host_energy),
        "processors_energy": _energy(node.processors_energy),
        "devices": [_of_device(node, device, energy) for device, energy in zip(node.devices, node.device_energies)],
        "missing": node.missing,
        "end": node.end,
    }


def _of_device(node: NodeTelemetry, device: Device, energy: Energy) -> Mapping[str, Any]:
    return {
        "number": device.number,
        "name": device.name,
        "memory_total_mb": device.memory_mb,
        **{name: _extent(node.series.extent(column)) for name, column in device.columns.items() if name != _COUNTED},
        "energy": _energy(energy),
    }


def _energy(found: Energy) -> Mapping[str, Any]:
    return {"joules": found.joules, "reason": found.reason}


def _extent(extent: Extent) -> Mapping[str, float | None]:
    return {"mean": extent.mean, "max": extent.max}

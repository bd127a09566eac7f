"""The energy of a repeat: a sum over all its nodes, of the best meter that every one of them has.

Devices come first, by their counters or else from their power; then whole nodes by IPMI; where no devices are at work,
then processors by RAPL. A sum without one node or one device would be none.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Callable, Mapping, NamedTuple, Sequence

from .energy import Energy, counted_energy, energy, total
from .telemetry_file import Device, NodeTelemetry

DEVICES, HOSTS, PROCESSORS = "devices", "hosts", "processors"
MOST_REASONS = 3
_NO_STEPS = Energy(None, "No step was measured.")
IN_WORDS = {
    DEVICES: "of the devices alone",
    HOSTS: "of the whole nodes, by their IPMI controllers",
    PROCESSORS: "of the processors and their memory alone, by RAPL",
}


class RepeatEnergy(NamedTuple):
    """`of` is what was metered; `reason` says why there is no number."""

    joules: float | None
    of: str | None
    reason: str | None
    remarks: Sequence[str] = ()


def repeat_energy(
    names: Sequence[str],
    nodes: Mapping[str, NodeTelemetry],
    windows: Mapping[str, tuple[float, float] | None],
) -> RepeatEnergy:
    """`names` are all nodes of the job."""
    has_devices = any(node.devices for node in nodes.values())
    ways: Mapping[str, Callable[[NodeTelemetry, tuple[float, float]], Mapping[str, Energy]]] = {
        **({DEVICES: _of_devices} if has_devices else {}),
        HOSTS: _of_host,
        **({} if has_devices else {PROCESSORS: _of_processors}),
    }
    reasons = []
    for of, meters in ways.items():
        energies: dict[str, Energy] = {}
        for name in names:
            window = windows.get(name)
            if name not in nodes:
                energies[name] = Energy(None, "There is no telemetry of it.")
            elif window is None:
                energies[name] = _NO_STEPS
            else:
                energies.update(meters(nodes[name], window))
        whole = total(energies)
        if whole.joules is not None:
            return RepeatEnergy(whole.joules, of, None, whole.remarks)
        reasons.append(f"{of.capitalize()}: {_why(energies)}")
    return RepeatEnergy(None, None, " ".join(reasons))


def device_energy(node: NodeTelemetry, device: Device, window: tuple[float, float] | None) -> Energy:
    if window is None:
        return _NO_STEPS
    counted = counted_energy(node.series.readings(device.columns.get("energy", "")), window)
    if counted.joules is not None:
        return counted
    power = device.columns.get("power", "")
    names = (f"device {device.number}: power", f"device {device.number}", "devices")
    return _or_why(energy(node.series.readings(power), window), node, power, names)


def host_energy(node: NodeTelemetry, window: tuple[float, float] | None) -> Energy:
    if window is None:
        return _NO_STEPS
    return _or_why(energy(node.series.readings("host_w"), window), node, "host_w", ["host_w"])


def processors_energy(node: NodeTelemetry, window: tuple[float, float] | None) -> Energy:
    if window is None:
        return _NO_STEPS
    return _or_why(counted_energy(node.series.readings("processors_j"), window), node, "processors_j", ["processors_j"])


def _of_devices(node: NodeTelemetry, window: tuple[float, float]) -> Mapping[str, Energy]:
    if not node.devices:
        return {node.node: Energy(None, "Its sampler saw no devices.")}
    return {f"{node.node} device {device.number}": device_energy(node, device, window) for device in node.devices}


def _of_host(node: NodeTelemetry, window: tuple[float, float]) -> Mapping[str, Energy]:
    return {node.node: host_energy(node, window)}


def _of_processors(node: NodeTelemetry, window: tuple[float, float]) -> Mapping[str, Energy]:
    return {node.node: processors_energy(node, window)}


def _or_why(found: Energy, node: NodeTelemetry, column: str, names: Sequence[str]) -> Energy:
    """Where nothing at all was read, the sampler knows why."""
    reason = next((node.missing[name] for name in names if name in node.missing), None)
    is_empty = next(node.series.readings(column), None) is None
    return Energy(None, reason) if reason is not None and is_empty and found.joules is None else found


def _why(energies: Mapping[str, Energy]) -> str:
    """What lacks it for the same reason is counted."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name, one in energies.items():
        if one.joules is None:
            alike[one.reason or ""].append(name)
    return " ".join(
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {reason}"
        for reason, names in list(alike.items())[:MOST_REASONS]
    )

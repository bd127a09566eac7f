"""The energy of a repeat: a sum over all its nodes, of the best meter that every one of them has.

Devices come first, by their counters or else from their power; then whole nodes by IPMI; where no devices are at work,
then processors by RAPL. A sum without one node or one device would be none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Callable, Iterable, Mapping, NamedTuple, Sequence

from .metered_energy import Energy, counted_energy, energy, seldom_read_energy, total
from .sampler_file import Device, NodeTelemetry

DEVICES, HOSTS, PROCESSORS = "devices", "hosts", "processors"
MOST_REASONS = 3
_SECONDS = re.compile(r"\d+\.\d(?= s\b)")
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


def set_energies(node: NodeTelemetry) -> None:
    """By every meter of the node, from all of its readings."""
    node.host_energy = _host_energy(node)
    node.processors_energy = _processors_energy(node)
    node.device_energies = [_device_energy(node, device) for device in node.devices]


def repeat_energy(names: Sequence[str], nodes: Mapping[str, NodeTelemetry]) -> RepeatEnergy:
    """`names` are all nodes of the job, `nodes` those that were sampled, with their energies."""
    has_devices = any(node.devices for node in nodes.values())
    ways: Mapping[str, Callable[[NodeTelemetry], Mapping[str, Energy]]] = {
        **({DEVICES: _of_devices} if has_devices else {}),
        HOSTS: lambda node: {node.node: node.host_energy},
        **({} if has_devices else {PROCESSORS: lambda node: {node.node: node.processors_energy}}),
    }
    reasons = []
    for of, meters in ways.items():
        energies: dict[str, Energy] = {}
        for name in names:
            if name not in nodes:
                energies[name] = Energy(None, "There is no telemetry of it.")
            elif nodes[name].series.window is None:
                energies[name] = _NO_STEPS
            else:
                energies.update(meters(nodes[name]))
        whole = total(energies)
        if whole.joules is not None:
            remarks = ((name, text) for name, one in energies.items() for text in one.remarks)
            return RepeatEnergy(whole.joules, of, None, _merged(remarks))
        reasons.append(f"{of.capitalize()}: {_why(energies)}")
    return RepeatEnergy(None, None, " ".join(reasons))


def _device_energy(node: NodeTelemetry, device: Device) -> Energy:
    window = node.series.window
    if window is None:
        return _NO_STEPS
    counted = counted_energy(node.series.readings(device.columns.get("energy", "")), window)
    if counted.joules is not None:
        return counted
    power = device.columns.get("power", "")
    names = (f"device {device.number}: power", f"device {device.number}", "devices")
    return _or_why(energy(node.series.readings(power), window), node, power, names)


def _host_energy(node: NodeTelemetry) -> Energy:
    window = node.series.window
    if window is None:
        return _NO_STEPS
    return _or_why(seldom_read_energy(node.series.readings("host_w"), window), node, "host_w", ["host_w"])


def _processors_energy(node: NodeTelemetry) -> Energy:
    window = node.series.window
    if window is None:
        return _NO_STEPS
    return _or_why(counted_energy(node.series.readings("processors_j"), window), node, "processors_j", ["processors_j"])


def _of_devices(node: NodeTelemetry) -> Mapping[str, Energy]:
    if not node.devices:
        return {node.node: Energy(None, "Its sampler saw no devices.")}
    return {f"{node.node} device {device.number}": found for device, found in zip(node.devices, node.device_energies)}


def _or_why(found: Energy, node: NodeTelemetry, column: str, names: Sequence[str]) -> Energy:
    """Where nothing at all was read, the sampler knows why."""
    reason = next((node.missing[name] for name in names if name in node.missing), None)
    is_empty = next(node.series.readings(column), None) is None
    return Energy(None, reason) if reason is not None and is_empty and found.joules is None else found


def _why(energies: Mapping[str, Energy]) -> str:
    reasons = _merged((name, one.reason or "") for name, one in energies.items() if one.joules is None)
    return " ".join(reasons[:MOST_REASONS])


def _merged(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Meters of which the same is to be said share a sentence, that of the one with the most seconds in it."""
    alike: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, text in texts:
        alike[_SECONDS.sub("", text)].append((name, text))
    return [_sentence(found) for found in alike.values()]


def _sentence(found: Sequence[tuple[str, str]]) -> str:
    name, text = max(found, key=lambda one: [float(seconds) for seconds in _SECONDS.findall(one[1])])
    if len(found) == 1:
        return f"{name}: {text}"
    differ = len({text for _, text in found}) > 1
    return f"{name} and {len(found) - 1} more{', of which this is the most' if differ else ''}: {text}"

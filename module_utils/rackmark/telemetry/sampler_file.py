"""Reads what the sampler of a node has left, line by line: a file may be long, torn, or anything else."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple

from .columns import NAN, Series
from .metered_energy import GAP, Energy

SCHEMA = "rackmark.telemetry/1"
LARGEST_JUMP = 0.5  # seconds by which the time of day may drift from the machine's own between two samples

_LONGEST_LINE = 1 << 20
_LARGEST = 1e18
_MOST_DEVICES = 256
_MOST_COLUMNS = 32
_MOST_CORES = 1024
_MOST_REASONS = 1000
_MOST_JUMPS = 100
_MEBIBYTE = 2**20
_NOT_METERED = Energy(None, "It was not looked for.")
# Counters in a sample, each of two directions.
_COUNTERS = {"net": ("received", "sent"), "rdma": ("rdma_received", "rdma_sent"), "disk": ("read", "written")}
_VALUES = ("cpu", "memory_mb", "processors_j", "host_w")


class Device(NamedTuple):
    """`memory_mb` is all that it has, where the sampler says it."""

    number: int
    name: str | None
    columns: Mapping[str, str]  # in the series, by what is read
    memory_mb: float | None = None


@dataclass
class NodeTelemetry:
    """`series` holds `received` and the like in MiB/s. `covered` are seconds of the window with samples.

    `end` is the sampler's reason for its end, or None; `ended` is whether it said anything about that.
    """

    node: str
    series: Series
    seconds: float = 1.0
    memory_mb: float | None = None
    devices: list[Device] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    first: float | None = None
    last: float | None = None
    longest_gap: float = 0.0
    gaps_in_window: float = 0.0
    jumps: list[float] = field(default_factory=list)
    ended: bool = False
    end: str | None = None
    unreadable: int = 0
    host_energy: Energy = _NOT_METERED
    processors_energy: Energy = _NOT_METERED
    device_energies: list[Energy] = field(default_factory=list)


def core_column(number: int) -> str:
    return f"core/{number}"


def read_telemetry(
    path: Path, node: str, window: tuple[float, float] | None, with_cores: bool = False
) -> NodeTelemetry:
    """`window` is by the clock of the node. Single processors are many columns, which few readers need."""
    reading = _Reading(NodeTelemetry(node, Series(window)), with_cores)
    with path.open("rb") as file:
        for line in _lines(file.readline):
            reading.take(line)
    reading.telemetry.series.finish()
    return reading.telemetry


def _lines(readline: Callable[[int], bytes]) -> Iterator[bytes]:
    """Of a line that is too long, the pieces: none of them can be read."""
    while line := readline(_LONGEST_LINE):
        if line.strip():
            yield line


class _Reading:
    def __init__(self, telemetry: NodeTelemetry, with_cores: bool) -> None:
        self.telemetry = telemetry
        self._with_cores = with_cores
        self._before: Mapping[str, Any] = {}
        self._time_before: float | None = None
        self._has_head = False

    def take(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict):
            self.telemetry.unreadable += 1
        elif "schema" in entry:
            self._take_head(entry)
        elif isinstance(entry.get("note"), dict):
            self._take_missing(entry["note"])
        elif "end" in entry:
            self.telemetry.ended = True
            self.telemetry.end = entry["end"] if isinstance(entry["end"], str) else None
        elif math.isnan(_number(entry.get("ms"))):
            self.telemetry.unreadable += 1
        else:
            self._take_sample(entry)

    def _take_head(self, head: Mapping[str, Any]) -> None:
        if head["schema"] != SCHEMA or self._has_head:
            self.telemetry.unreadable += 1
            return
        self._has_head = True
        seconds, memory = _number(head.get("seconds")), _number(head.get("memory_mb"))
        self.telemetry.seconds = seconds if seconds > 0 else 1.0
        self.telemetry.memory_mb = memory if memory > 0 else None
        self._take_missing(head.get("missing"))
        columns = [str(name) for name in _list(head.get("device_columns"))[:_MOST_COLUMNS]]
        for place, device in enumerate(_list(head.get("devices"))[:_MOST_DEVICES]):
            facts = device if isinstance(device, dict) else {}
            number, name = facts.get("number"), facts.get("name")
            self.telemetry.devices.append(
                Device(
                    number if isinstance(number, int) else place,
                    name if isinstance(name, str) else None,
                    {one: f"{place}/{one}" for one in columns},
                    total if (total := _number(facts.get("memory_mb"))) > 0 else None,
                )
            )

    def _take_missing(self, missing: object) -> None:
        """Of what was missing for a while, the reason stays."""
        if isinstance(missing, dict) and len(self.telemetry.missing) < _MOST_REASONS:
            self.telemetry.missing.update({name: why for name, why in missing.items() if isinstance(why, str)})

    def _take_sample(self, sample: Mapping[str, Any]) -> None:
        telemetry, time = self.telemetry, _number(sample["ms"]) / 1000
        values = {name: _number(sample.get(name)) for name in _VALUES}
        if self._time_before is not None:
            passed = _number(sample.get("mono")) - _number(self._before.get("mono"))
            values.update(self._rates(sample, time - self._time_before if math.isnan(passed) else passed))
            self._note_gap(self._time_before, time, passed)
        if self._with_cores:
            cores = _list(sample.get("cores"))[:_MOST_CORES]
            values.update((core_column(number), _number(busy)) for number, busy in enumerate(cores))
        for device, row in zip(telemetry.devices, _list(sample.get("devices"))):
            values.update(zip(device.columns.values(), map(_number, _list(row))))
        telemetry.series.take(time, values)
        telemetry.first = time if telemetry.first is None else min(telemetry.first, time)
        telemetry.last = time if telemetry.last is None else max(telemetry.last, time)
        self._before, self._time_before = sample, time

    def _rates(self, sample: Mapping[str, Any], seconds: float) -> Iterator[tuple[str, float]]:
        for name, ways in _COUNTERS.items():
            for way, now, before in zip(ways, _list(sample.get(name)), _list(self._before.get(name))):
                counted = _number(now) - _number(before)
                yield way, counted / seconds / _MEBIBYTE if seconds > 0 and counted >= 0 else NAN

    def _note_gap(self, last: float, time: float, by_machine: float) -> None:
        telemetry = self.telemetry
        passed = time - last
        jump = passed - by_machine
        if abs(jump) > LARGEST_JUMP and len(telemetry.jumps) < _MOST_JUMPS:
            telemetry.jumps.append(jump)
        if passed > GAP * telemetry.seconds:
            telemetry.longest_gap = max(telemetry.longest_gap, passed)
            window = telemetry.series.window
            if window is not None:
                telemetry.gaps_in_window += max(0.0, min(time, window[1]) - max(last, window[0]))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: object) -> float:
    """nan for what is none, or none that anything can have."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _LARGEST:
        return NAN
    return float(value)

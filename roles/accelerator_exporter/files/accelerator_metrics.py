"""Readings of devices as metrics, of the same names whoever made the devices. What is not known is absent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator, NamedTuple, Sequence

from device_sources import Identity
from device_watcher import State
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from rackmark.node.device_columns import COLUMNS
from rackmark.node.devices import device_file

PREFIX = "rackmark_accelerator_"
_LONGEST_REASON = 200


@dataclass(frozen=True)
class Host:
    """`devices` are the numbers of the device files that ought to be there."""

    vendor: str
    devices: Sequence[int]
    model: str = ""
    simulated: bool = False
    dev: Path = Path("/dev")

    def has_file(self, number: int) -> bool:
        """Asks the kernel's list of devices, and not the device."""
        return device_file(self.vendor, number, self.dev).exists()


class _Value(NamedTuple):
    column: str
    name: str
    help: str
    of: Callable[[float], float]


def _part(percent: float) -> float:
    return percent / 100


def _bytes(mebibytes: float) -> float:
    return mebibytes * 2**20


def _hertz(megahertz: float) -> float:
    return megahertz * 1e6


_GAUGES = (
    _Value("utilisation", "utilization_ratio", "Part of the time in which the device worked.", _part),
    _Value("memory_mb", "memory_used_bytes", "Memory of the device in use.", _bytes),
    _Value("memory", "memory_used_ratio", "Part of the device's memory in use.", _part),
    _Value("temperature", "temperature_celsius", "Temperature of the device.", float),
    _Value("power", "power_watts", "Power that the device draws.", float),
)
_COUNTERS = (
    _Value("energy", "energy_joules_total", "Energy by the device's own counter.", float),
    _Value("errors", "uncorrected_ecc_errors_total", "ECC errors that could not be corrected, of this boot.", float),
)
_CLOCKS = {"clock": "compute", "memory_clock": "memory"}


def metrics(host: Host, state: State) -> Iterator[Metric]:
    lost = {number: _is_lost(host, state, number) for number in host.devices}
    yield from _of_reader(host, state, lost)
    yield _info(host, state)
    yield from _of_devices(host, state, [number for number, is_lost in lost.items() if not is_lost])
    yield _unreadable(host, state, lost)


def _is_lost(host: Host, state: State, number: int) -> bool | None:
    """None where the reader cannot tell."""
    if not host.has_file(number):
        return True
    if state.failure is not None:
        return None
    return number not in state.reading.rows


def _of_reader(host: Host, state: State, lost: dict[int, bool | None]) -> Iterator[Metric]:
    yield _gauge("reader_up", "Whether the devices are read.", 0 if state.failure else 1, vendor=host.vendor)
    why = _family("reader_failure_info", "Why the devices are not read.", "vendor", "reason")
    if state.failure:
        why.add_metric([host.vendor, state.failure], 1)
    yield why
    yield _gauge(
        "expected_devices",
        "Devices that the host had when it was set up.",
        len(host.devices),
        vendor=host.vendor,
    )
    visible = None if state.failure else sum(is_lost is False for is_lost in lost.values())
    yield _gauge("visible_devices", "Expected devices that are there and read.", visible, vendor=host.vendor)
    yield _gauge("reading_age_seconds", "Time since the devices were last heard of.", state.age, vendor=host.vendor)
    family = _family("lost", "Whether an expected device is not there or does not answer.", "vendor", "device")
    for number, is_lost in lost.items():
        if is_lost is not None:
            family.add_metric([host.vendor, str(number)], int(is_lost))
    yield family


def _info(host: Host, state: State) -> Metric:
    labels = ("vendor", "device", "model", "uuid", "driver", "simulated")
    family = _family("info", "What the device is.", *labels)
    for number in host.devices:
        known = state.reading.identities.get(number, Identity())
        words = (known.model or host.model, known.uuid, state.reading.driver, str(host.simulated).lower())
        family.add_metric([host.vendor, str(number), *words], 1)
    return family


def _of_devices(host: Host, state: State, there: Sequence[int]) -> Iterator[Metric]:
    rows = {number: dict(zip(COLUMNS, state.reading.rows[number])) for number in there if number in state.reading.rows}
    for kind, values in ((GaugeMetricFamily, _GAUGES), (CounterMetricFamily, _COUNTERS)):
        for value in values:
            family = kind(PREFIX + value.name, value.help, labels=("vendor", "device"))
            for number, row in rows.items():
                if row[value.column] is not None:
                    family.add_metric([host.vendor, str(number)], value.of(row[value.column]))
            yield family
    clocks = _family("clock_hertz", "Clock of the device's processors or memory.", "vendor", "device", "clock")
    totals = _family("memory_total_bytes", "Memory that the device has.", "vendor", "device")
    for number, row in rows.items():
        for column, clock in _CLOCKS.items():
            if row[column] is not None:
                clocks.add_metric([host.vendor, str(number), clock], _hertz(row[column]))
        if number in state.reading.memory_totals:
            totals.add_metric([host.vendor, str(number)], state.reading.memory_totals[number])
    yield clocks
    yield totals


def _unreadable(host: Host, state: State, lost: dict[int, bool | None]) -> Metric:
    family = _family("unreadable_info", "Why a value is missing.", "vendor", "what", "reason")
    reasons: dict[str, str] = {}
    for what, reason in state.reading.missing.items():
        device, _, column = what.partition(": ")
        # All values of a lost device are missing for one reason, which is the last that came up.
        whole = column and any(lost[number] and device == f"device {number}" for number in host.devices)
        reasons[device if whole else what] = reason
    for what, reason in sorted(reasons.items()):
        family.add_metric([host.vendor, what, reason[:_LONGEST_REASON]], 1)
    return family


def _family(name: str, help_text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(PREFIX + name, help_text, labels=labels)


def _gauge(name: str, help_text: str, value: float | None, **labels: str) -> GaugeMetricFamily:
    family = _family(name, help_text, *labels)
    if value is not None:
        family.add_metric(list(labels.values()), value)
    return family

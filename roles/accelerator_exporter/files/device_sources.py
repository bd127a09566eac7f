"""What the readers of a run's telemetry say, for a program that goes on when devices and drivers go and come back."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import Mapping, Sequence

from ascend_errors import AscendErrors
from rackmark.node import devices, nvidia_readings
from rackmark.node.ascend_readings import AscendReadings
from rackmark.node.device_columns import COLUMNS

_ERRORS = "errors"
RETRY = 60.0  # seconds after which NVML is asked again what is there, as long as not all is


@dataclass(frozen=True)
class Identity:
    model: str = ""
    uuid: str = ""


@dataclass(frozen=True)
class DevicesRead:
    """Values of each device that has any, as in `device_columns`. `told` is when the devices were last heard of."""

    told: float | None = None
    rows: Mapping[int, Sequence[float | None]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    failure: str | None = None
    identities: Mapping[int, Identity] = field(default_factory=dict)
    memory_totals: Mapping[int, int] = field(default_factory=dict)
    driver: str = ""


class NvidiaSource:
    """A driver that is loaded late, and a device that comes back, are only seen by an NVML that is begun again."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = numbers
        self._readings: nvidia_readings.NvidiaReadings | None = None
        self._begin_again = 0.0
        self._driver = ""
        self._identities: dict[int, Identity] = {}  # also of devices that were lost since
        self._memory_totals: dict[int, int] = {}

    def read(self, now: float) -> DevicesRead:
        if self._readings is None:
            self._readings = self._begin(now)
        found = dict(zip(self._numbers, self._readings.read(now)["devices"]))
        rows = {number: row for number, row in found.items() if row and any(value is not None for value in row)}
        missing = dict(self._readings.missing)
        failure = missing.pop("devices", None)
        if now >= self._begin_again and len(rows) < len(self._numbers):
            self._end()
        return DevicesRead(
            told=None if failure else now,
            rows=rows,
            missing=missing,
            failure=failure,
            identities=dict(self._identities),
            memory_totals=dict(self._memory_totals),
            driver=self._driver,
        )

    def _begin(self, now: float) -> nvidia_readings.NvidiaReadings:
        self._begin_again = now + RETRY
        readings = nvidia_readings.NvidiaReadings(self._numbers)
        if "devices" not in readings.missing:
            head = readings.head()
            self._driver = head["driver"] or ""
            for device in head["devices"]:
                if device["name"] or device["uuid"]:
                    self._identities[device["number"]] = Identity(device["name"] or "", device["uuid"] or "")
            self._memory_totals.update(_nvidia_memory())
        return readings

    def _end(self) -> None:
        self._readings, nvml = None, nvidia_readings.pynvml
        if nvml is not None:
            try:
                nvml.nvmlShutdown()
            except nvml.NVMLError:
                """It had not begun."""


def _nvidia_memory() -> dict[int, int]:
    nvml, totals = nvidia_readings.pynvml, {}
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            device = nvml.nvmlDeviceGetHandleByIndex(index)
            totals[nvml.nvmlDeviceGetMinorNumber(device)] = nvml.nvmlDeviceGetMemoryInfo(device).total
        except nvml.NVMLError:
            continue  # such a device has no memory in use either, and the reader says why
    return totals


class _HeardReadings(AscendReadings):
    heard: float | None = None

    def _take(self, line: str, now: float) -> None:
        super()._take(line, now)
        self.heard = now


class AscendSource:
    """npu-smi goes on by itself. One that is not installed yet is waited for."""

    def __init__(self, numbers: Sequence[int], seconds: float, model: str) -> None:
        self._numbers, self._seconds = numbers, seconds
        self._readings: _HeardReadings | None = None
        self._errors = AscendErrors()
        self._identities = {number: Identity(model) for number in numbers}

    def read(self, now: float) -> DevicesRead:
        if self._readings is None:
            if shutil.which("npu-smi") is None:
                return DevicesRead(failure="There is no program npu-smi.", identities=self._identities)
            self._readings = _HeardReadings(self._numbers, self._seconds)
        found = zip(self._numbers, self._readings.read(now)["devices"])
        errors = self._errors.read(now)
        missing = dict(self._readings.missing)
        missing.pop(f"devices: {_ERRORS}", None)
        return DevicesRead(
            told=self._readings.heard,
            rows={
                number: _with_errors(row, errors.get(number))
                for number, row in found
                if row and any(value is not None for value in row)
            },
            failure=missing.pop("devices", None),
            missing={**self._errors.missing(self._numbers), **missing},
            identities=self._identities,
            driver=devices.driver_version("ascend") or "",
        )

    def close(self) -> None:
        self._errors.close()
        if self._readings is not None:
            self._readings.close()


def _with_errors(row: Sequence[float | None], errors: int | None) -> Sequence[float | None]:
    return [errors if column == _ERRORS else value for column, value in zip(COLUMNS, row)]

"""Devices of NVIDIA through the driver's own library, by NVIDIA's binding, which lies beside this file."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Callable, Sequence, TypeVar

from .device_columns import COLUMNS

try:
    import pynvml
except ImportError:
    pynvml = None


_Value = TypeVar("_Value")
_OF_ALL_PARTS = ("power", "energy")
_DIVIDED = "The device is divided (MIG), and NVML tells only that of all its parts together."


class NvidiaReadings:
    """Of the devices with these numbers of their files."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.missing: dict[str, str] = {}
        self._numbers = numbers
        self._handles: dict[int, Any] = {}
        self._driver: str | None = None
        self._given_up: set[tuple[int, str]] = set()
        if pynvml is None:
            self.missing["devices"] = "NVIDIA's binding pynvml.py does not lie beside the engine."
            return
        try:
            pynvml.nvmlInit()
            self._driver = pynvml.nvmlSystemGetDriverVersion()
            self._find()
        except pynvml.NVMLError as error:
            self.missing["devices"] = f"NVML does not work here: {error}."

    def _find(self) -> None:
        found = {}
        for index in range(pynvml.nvmlDeviceGetCount()):
            with suppress(pynvml.NVMLError):  # one that was lost must not hide the others
                handle = pynvml.nvmlDeviceGetHandleByIndex(index)
                found[pynvml.nvmlDeviceGetMinorNumber(handle)] = handle
        self._handles = {number: found[number] for number in self._numbers if number in found}
        for number in self._numbers:
            if number not in found:
                self.missing[f"device {number}"] = "NVML does not list it."
        for number in self._handles:
            if self._is_divided(number):
                for name in _OF_ALL_PARTS:
                    self._given_up.add((number, name))
                    self.missing[f"device {number}: {name}"] = _DIVIDED

    def _is_divided(self, number: int) -> bool:
        ask = getattr(pynvml, "nvmlDeviceGetMigMode", None)
        if ask is not None:
            with suppress(pynvml.NVMLError):  # most devices cannot be divided
                return bool(ask(self._handles[number])[0] == pynvml.NVML_DEVICE_MIG_ENABLE)
        return False

    def head(self) -> dict[str, Any]:
        devices = [
            {
                "number": number,
                "vendor": "nvidia",
                "name": self._value(number, "name", pynvml and pynvml.nvmlDeviceGetName),
                "uuid": self._value(number, "uuid", pynvml and pynvml.nvmlDeviceGetUUID),
                "memory_mb": self._value(number, "memory", pynvml and _memory_of),
            }
            for number in self._numbers
        ]
        return {"devices": devices, "device_columns": COLUMNS, "driver": self._driver}

    def read(self, _now: float) -> dict[str, Any]:
        return {"devices": [self._row(number) for number in self._numbers]}

    def close(self) -> None:
        """The driver forgets its clients when they end."""

    def _row(self, number: int) -> list[float | None] | None:
        if number not in self._handles:
            return None
        values = {**dict.fromkeys(COLUMNS), **self._value_of_memory(number)}
        for name, read in _READ.items():
            values[name] = self._value(number, name, read)
        return list(values.values())

    def _value_of_memory(self, number: int) -> dict[str, float]:
        memory = self._value(number, "memory", pynvml.nvmlDeviceGetMemoryInfo)
        if memory is None or not memory.total:
            return {}
        return {"memory": round(100 * memory.used / memory.total, 1), "memory_mb": memory.used >> 20}

    def _value(self, number: int, name: str, read: Callable[[Any], _Value] | None) -> _Value | None:
        if number not in self._handles or read is None or (number, name) in self._given_up:
            return None
        try:
            value = read(self._handles[number])
        except pynvml.NVMLError as error:
            self.missing[f"device {number}: {name}"] = f"NVML says: {error}."
            if isinstance(error, (pynvml.NVMLError_NotSupported, pynvml.NVMLError_FunctionNotFound)):
                self._given_up.add((number, name))
            return None
        self.missing.pop(f"device {number}: {name}", None)
        return value


def _memory_of(device: Any) -> float:  # noqa: ANN401
    """All that it has."""
    return int(pynvml.nvmlDeviceGetMemoryInfo(device).total) >> 20


_READ: dict[str, Callable[[Any], float]] = {
    "utilisation": lambda device: pynvml.nvmlDeviceGetUtilizationRates(device).gpu,
    "temperature": lambda device: pynvml.nvmlDeviceGetTemperature(device, pynvml.NVML_TEMPERATURE_GPU),
    "power": lambda device: pynvml.nvmlDeviceGetPowerUsage(device) / 1000,
    "energy": lambda device: pynvml.nvmlDeviceGetTotalEnergyConsumption(device) / 1000,
    "clock": lambda device: pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_SM),
    "memory_clock": lambda device: pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_MEM),
    "errors": lambda device: pynvml.nvmlDeviceGetTotalEccErrors(
        device, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC
    ),
}

"""Devices of Ascend, as one `npu-smi info watch` that runs all the time prints them.

Its first line names the columns, which differ between versions; every other line is one chip:

    NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     AI Core(%)  ...
    0           0           68.2        41          97          ...
"""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence, TypeVar

from .device_columns import COLUMNS
from .watched_tool import SILENCE, WatchedTool

_COLUMN = re.compile(r"([A-Za-z][A-Za-z ]*?) *\([^)]*\)")
_READ = {"utilisation": ("AI Core",), "memory": ("HBM", "Memory"), "temperature": ("Temp",), "power": ("Pwr",)}
_LONGEST_DELAY = 100  # seconds that npu-smi takes
_Known = TypeVar("_Known")
_ROUNDS = 3  # a reading older than these is none


class AscendReadings:
    """Of the devices with these numbers of their files."""

    def __init__(self, numbers: Sequence[int], seconds: float) -> None:
        delay = max(1, min(round(seconds), _LONGEST_DELAY))
        self._tool = WatchedTool(["npu-smi", "info", "watch", "-d", str(delay)], silence=max(SILENCE, _ROUNDS * delay))
        self._numbers, self._oldest = numbers, _ROUNDS * delay
        self._columns: list[str] = []
        self._chips: dict[tuple[int, int], tuple[float, list[float | None]]] = {}
        self._rows: list[list[float | None] | None] = []

    @property
    def missing(self) -> dict[str, str]:
        never = {f"devices: {name}": "npu-smi info watch does not tell it." for name in COLUMNS if name not in _READ}
        if self._tool.reason:
            return {**never, "devices": self._tool.reason}
        return {**never, **{name: why for one in zip(self._numbers, self._rows) for name, why in _missing_of(*one)}}

    def head(self) -> dict[str, Any]:
        devices = [{"number": number, "vendor": "ascend", "name": None, "uuid": None} for number in self._numbers]
        return {"devices": devices, "device_columns": COLUMNS, "driver": None}

    def read(self, now: float) -> dict[str, Any]:
        for line in self._tool.lines(now):
            self._take(line, now)
        fresh = {number: row for number, (time, row) in by_number(self._chips).items() if now - time < self._oldest}
        self._rows = [fresh.get(number) for number in self._numbers]
        return {"devices": self._rows}

    def close(self) -> None:
        self._tool.close()

    def _take(self, line: str, now: float) -> None:
        if line.startswith("NpuID"):
            self._columns = _COLUMN.findall(line)
            return
        words = line.split()
        if len(words) != len(self._columns) or not words[0].isdecimal():
            return
        values = dict(zip(self._columns, words))
        chip = values.get("ChipId", "0")
        row = [self._value(values, _READ.get(column, ())) for column in COLUMNS]
        self._chips[int(words[0]), int(chip) if chip.isdecimal() else 0] = now, row

    @staticmethod
    def _value(values: dict[str, str], names: Sequence[str]) -> float | None:
        said = next((values[name] for name in names if name in values), "")
        return float(said) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", said) else None


def by_number(chips: Mapping[tuple[int, int], _Known]) -> dict[int, _Known]:
    """What is known of chips, which npu-smi names by card and place on it, by the numbers of their device files."""
    per_card = max((chip for _, chip in chips), default=0) + 1
    return {card * per_card + chip: known for (card, chip), known in chips.items()}


def _missing_of(number: int, row: Sequence[float | None] | None) -> list[tuple[str, str]]:
    if row is None:
        return [(f"device {number}", "npu-smi info watch prints no line on it.")]
    return [
        (f"device {number}: {name}", "npu-smi info watch prints no number.")
        for name, value in zip(COLUMNS, row)
        if value is None and name in _READ
    ]

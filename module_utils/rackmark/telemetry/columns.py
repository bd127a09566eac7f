"""Columns of numbers over time that take bounded memory, however long they are: what is missing is nan, never 0."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from typing import Iterator, Mapping, NamedTuple, Sequence

NAN = math.nan
MOST_ROWS = 4096  # more are halved: two neighbours become their mean at their mean time, as do rows that follow


class Extent(NamedTuple):
    """Of what was read in the window. No value was, where both are None."""

    mean: float | None
    max: float | None


@dataclass
class _Sum:
    count: int = 0
    sum: float = 0.0
    max: float = -math.inf

    def take(self, value: float) -> None:
        if not math.isnan(value):
            self.count, self.sum, self.max = self.count + 1, self.sum + value, max(self.max, value)

    @property
    def extent(self) -> Extent:
        return Extent(self.sum / self.count, self.max) if self.count else Extent(None, None)


@dataclass
class Series:
    """`extents` are of all rows in the window, before any are halved."""

    window: tuple[float, float] | None
    times: array[float] = field(default_factory=lambda: array("d"))
    columns: dict[str, array[float]] = field(default_factory=dict)
    sums: dict[str, _Sum] = field(default_factory=dict)
    samples_in_window: int = 0
    _in_a_row: int = 1
    _waiting: list[tuple[float, Mapping[str, float]]] = field(default_factory=list)

    def take(self, time: float, values: Mapping[str, float]) -> None:
        if self.window is not None and self.window[0] <= time <= self.window[1]:
            self.samples_in_window += 1
            for name, value in values.items():
                self.sums.setdefault(name, _Sum()).take(value)
        self._waiting.append((time, values))
        if len(self._waiting) == self._in_a_row:
            self.finish()

    def finish(self) -> None:
        """What waits for neighbours becomes a row without them."""
        if not self._waiting:
            return
        times, rows = zip(*self._waiting)
        self._waiting = []
        for name in {name: None for row in rows for name in row}:
            if name not in self.columns:
                self.columns[name] = array("d", [NAN] * len(self.times))
        self.times.append(math.fsum(times) / len(times))
        for name, column in self.columns.items():
            known = [row[name] for row in rows if not math.isnan(row.get(name, NAN))]
            column.append(math.fsum(known) / len(known) if known else NAN)
        if len(self.times) >= MOST_ROWS:
            self._halve()

    def extent(self, name: str) -> Extent:
        return self.sums[name].extent if name in self.sums else Extent(None, None)

    def readings(self, name: str) -> Iterator[tuple[float, float]]:
        for time, value in zip(self.times, self.columns.get(name, ())):
            if not math.isnan(value):
                yield time, value

    def forget_rows(self) -> None:
        """What is kept of all rows stays."""
        self.times, self.columns = array("d"), {}

    def _halve(self) -> None:
        self._in_a_row *= 2
        self.times = _halved(self.times)
        self.columns = {name: _halved(column) for name, column in self.columns.items()}


def _halved(values: Sequence[float]) -> array[float]:
    return array("d", [_mean(one, other) for one, other in zip(values[0::2], values[1::2])])


def _mean(one: float, other: float) -> float:
    """Of one alone where the other is missing."""
    if math.isnan(one):
        return other
    return one if math.isnan(other) else (one + other) / 2

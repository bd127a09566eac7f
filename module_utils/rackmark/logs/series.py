"""The measured intervals of one rank, as columns that stay small however long the log is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .arrays import Array
from .printed_rates import PrintedRates

MOST_ROWS = 1 << 17  # above it neighbouring intervals become one, within the same part of the log
_MOST_PARTS = 64  # that are kept apart: short ones need more room than their rows


class Window(NamedTuple):
    """The steps that count: after `warmup`, up to `last`; None is the end of the log."""

    warmup: int
    last: int | None


@dataclass
class Rows:
    """An interval of `steps` training steps, of which `step` is the last, took `seconds`.

    `samples` is nan where the log counts steps only, `loss` is nan where it has none, and `broken` is the first step
    whose loss is nan or infinite by the log's own word. `time` is when the interval ended, nan where nothing says so.
    """

    step: Array
    steps: Array
    seconds: Array
    samples: Array
    loss: Array
    time: Array

    def __len__(self) -> int:
        return len(self.step)

    def pick(self, chosen: Array) -> Rows:
        return Rows(*(column[chosen] for column in self.columns()))

    def columns(self) -> list[Array]:
        return [self.step, self.steps, self.seconds, self.samples, self.loss, self.time]


def rows(
    step: Array, steps: Array, seconds: Array, samples: Array = None, loss: Array = None, time: Array = None
) -> Rows:
    nothing = np.full(len(step), np.nan)
    columns = (step, steps, seconds, *(nothing if column is None else column for column in (samples, loss, time)))
    return Rows(*(np.asarray(column, float) for column in columns))


def joined(parts: list[Rows]) -> Rows:
    if not parts:
        return rows(*[np.empty(0)] * 3)
    return Rows(*(np.concatenate(columns) for columns in zip(*(part.columns() for part in parts))))


class Series:
    """Grows by rows in the order of the log.

    `is_unbroken`: every interval begins with the step at which the one before it ended, the first one with the first
    step. `begin` is when that began, `measured` when the first interval in the window began and when the last one
    ended, `before` when the one before the window ended; nan where lines do not tell the time, or where there is none.
    `printed` is what the log says of its own speed.
    """

    def __init__(self, window: Window) -> None:
        self.window = window
        self.broken_loss: tuple[int, float] | None = None
        self.is_unbroken = True
        self.begin = float("nan")
        self.measured: tuple[float, float] | None = None
        self.before = float("nan")
        self.printed = PrintedRates()
        self._ended = float("nan")
        self._last_step = 0.0
        self._parts: list[Rows] = []
        self._size = 0

    def add(self, more: Rows) -> None:
        self.note_broken_loss(more)
        if len(more):
            self._note_order(more)
            self._note_times(more)
        self._parts.append(more)
        self._size += len(more)
        while self._size > MOST_ROWS:
            self.halve()
        if len(self._parts) > _MOST_PARTS:
            self._parts = [self.rows]

    def __len__(self) -> int:
        return self._size

    def halve(self) -> None:
        merged = _halved(joined(self._parts), self.window)
        self._parts, self._size = [merged], len(merged)

    @property
    def rows(self) -> Rows:
        return joined(self._parts)

    def _note_order(self, more: Rows) -> None:
        begins = more.step - more.steps
        follows = begins[1:] == more.step[:-1]
        self.is_unbroken = self.is_unbroken and bool(begins[0] == self._last_step) and bool(follows.all())
        self._last_step = float(more.step[-1])

    def _note_times(self, more: Rows) -> None:
        if not self._size:
            self.begin = float(more.time[0] - more.seconds[0])
        inside = np.flatnonzero(in_window(more, self.window))
        if len(inside):
            if self.measured is None:
                self.before = float(more.time[inside[0] - 1]) if inside[0] else self._ended
            begin = float(more.time[inside[0]] - more.seconds[inside[0]]) if self.measured is None else self.measured[0]
            self.measured = begin, float(more.time[inside[-1]])
        self._ended = float(more.time[-1])

    def note_broken_loss(self, more: Rows) -> None:
        """Infinity stands for a loss that is not a number too: nan says that there is none."""
        broken = np.isinf(more.loss)
        if self.broken_loss is None and broken.any():
            first = int(np.argmax(broken))
            self.broken_loss = int(more.step[first]), float(more.loss[first])


def in_window(all_rows: Rows, window: Window) -> Array:
    inside = all_rows.step - all_rows.steps >= window.warmup
    return inside if window.last is None else inside & (all_rows.step <= window.last)


def _halved(all_rows: Rows, window: Window) -> Rows:
    """Neighbours become one where both lie before, in or after the window; sums stay what they are."""
    part = _parts(all_rows, window)
    merged = _merged(all_rows, part)
    if len(merged) > 0.75 * len(all_rows):  # steps that go back and forth have few neighbours
        order = np.argsort(part, kind="stable")
        merged = _merged(all_rows.pick(order), part[order])
    return merged


def _parts(all_rows: Rows, window: Window) -> Array:
    first = all_rows.step - all_rows.steps
    last = np.inf if window.last is None else window.last
    return np.where(first >= window.warmup, 1, 0) + np.where(all_rows.step > last, 1, 0)


def _merged(all_rows: Rows, part: Array) -> Rows:
    number = np.arange(len(all_rows))
    begins = np.flatnonzero(np.diff(part, prepend=-1) != 0)
    in_part = number - begins[np.searchsorted(begins, number, "right") - 1]
    same_as_next = np.append(part[1:] == part[:-1], False)
    leads = (in_part % 2 == 0) & same_as_next
    kept = np.flatnonzero(in_part % 2 == 0)
    second = np.where(leads[kept], kept + 1, kept)
    both = leads[kept]

    def total(column: Array) -> Array:
        return column[kept] + np.where(both, column[second], 0)

    return Rows(
        step=all_rows.step[second],
        steps=total(all_rows.steps),
        seconds=total(all_rows.seconds),
        samples=total(all_rows.samples),
        loss=all_rows.loss[second],
        time=all_rows.time[second],
    )

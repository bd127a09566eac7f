"""Reads a text in a dialect, as the analysis reads a file."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rackmark.logs.dialect import Dialect
from rackmark.logs.log_file import LogFile
from rackmark.logs.reading import Reading
from rackmark.logs.series import Rows, Window


def read(folder: Path, text: str | bytes, dialect: Dialect, warmup: int = 0, last: int | None = None) -> Reading:
    path = folder / "a.log"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return dialect.read(LogFile(path), Window(warmup, last))


def measured(reading: Reading, rank: int | None = None) -> Rows:
    """The intervals inside the window."""
    rows, window = reading.series[rank].rows, reading.window
    inside = rows.step - rows.steps >= window.warmup
    if window.last is not None:
        inside &= rows.step <= window.last
    return rows.pick(inside)


def steps_per_second(reading: Reading, rank: int | None = None) -> float:
    rows = measured(reading, rank)
    return float(rows.steps.sum() / rows.seconds.sum())


class Interval(NamedTuple):
    step: int
    samples: float
    seconds: float
    loss: float
    time: float
    steps: int


def intervals(reading: Reading, rank: int | None = None) -> list[Interval]:
    """In the order of the log; nan is what it does not tell."""
    if rank not in reading.series:
        return []
    rows = reading.series[rank].rows
    columns = (rows.step.astype(int), rows.samples, rows.seconds, rows.loss, rows.time, rows.steps.astype(int))
    return [Interval(*row) for row in zip(*(column.tolist() for column in columns))]

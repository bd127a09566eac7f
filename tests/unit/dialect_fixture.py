"""Reads a text in a dialect, as the analysis reads a file."""

from __future__ import annotations

from pathlib import Path

from rackmark.dialects.dialect import Dialect
from rackmark.dialects.log_file import LogFile
from rackmark.dialects.reading import Reading
from rackmark.dialects.series import Rows, Window


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

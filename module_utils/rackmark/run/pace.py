"""How fast a job is while it runs, from the begin and the end of a log."""

from __future__ import annotations

from typing import Mapping, NamedTuple

import numpy as np

from ..logs.dialect import Dialect
from ..logs.log_file import plain
from ..logs.series import Window

_LATEST = 20  # intervals that the time left is judged by


class Pace(NamedTuple):
    """`steps` are those done. `rate` is of all processes, by the latest interval; None where lines do not tell it, as
    the seconds of a step. `progress` is what a search says of how far it is."""

    steps: int
    rate: float | None
    step_seconds: float | None
    trials: int
    progress: Mapping[str, float] = {}


def pace(head: bytes, tail: bytes, dialect: Dialect, processes: int, batch: int | None) -> Pace | None:
    """`head` is read as well, for what the process says of itself there. None before its first step or trial."""
    reading = dialect.read_text(plain(head + b"\n" + tail), Window(0, None))
    series = next(iter(reading.series.values()), None)
    if series is None or not len(series):
        known = reading.trials or reading.progress
        return Pace(0, None, None, len(reading.trials), reading.progress) if known else None
    rows = series.rows.pick(slice(-_LATEST, None))
    steps, seconds = rows.steps[-1], rows.seconds[-1]
    if dialect.gives_rate:
        return Pace(int(rows.step[-1]), float(steps / seconds), None, len(reading.trials))
    samples = rows.samples[-1] if np.isfinite(rows.samples[-1]) else steps * (batch or np.nan)
    all_of_them = 1 if dialect.of_all_ranks and np.isfinite(rows.samples[-1]) else processes
    rate = float(samples / seconds * all_of_them)
    step_seconds = float(np.median(rows.seconds / rows.steps))
    return Pace(int(rows.step[-1]), rate if np.isfinite(rate) else None, step_seconds, len(reading.trials))

"""Reads one log and keeps what its numbers need, however long it is."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Mapping, Sequence

import numpy as np

from ..dialects.arrays import Array
from ..dialects.catalog import dialect_named
from ..dialects.dialect import Dialect
from ..dialects.log_file import LogFile
from ..dialects.reading import ExtraTable, Fault, Reading
from ..dialects.series import Rows, Series, Window
from ..judging.evidence import cause_line
from .placing import place_in
from .printable import printable, printable_facts

# What the pictures show, of one rank and of all ranks of all logs together.
_MOST_STEP_SECONDS, _MOST_STEP_SECONDS_OF_ALL = 2000, 500_000
_MOST_LOSSES, _MOST_LOSSES_OF_ALL = 500, 50_000
_LEAST = 10
_MOST_STEPS = 1e15
_NO_DIGITS = dict.fromkeys(map(ord, "0123456789"))
_DATED, _YEAR_2100 = 365 * 86400.0, 4102444800.0  # an earlier time is one of day, without a date, a later one is none
_ABOVE_ZERO = ("throughput", "whole", "no_eval", "time_to_train_s", "e2e_s", "mfu", "energy_j")


@dataclass(frozen=True)
class RankDigest:
    """Sums over the measured window, which begins after step `first` and ends with step `last` of the log.

    `samples` is nan where the log counts steps only; `seconds` are per sample of a step's batch where `relative`.
    """

    steps: float
    samples: float
    seconds: float
    first: float
    last: float
    end_of_log: float
    step_seconds: Sequence[float]
    losses: Sequence[tuple[int, float]]
    finished: float | None


@dataclass(frozen=True)
class Digest:
    """Of one log, or of a folder that is one as a whole. `files` is how many it is, `modified` when the last was."""

    path: PurePath
    dialect: str
    facts: Mapping[str, Any]
    stated: Mapping[str, float]
    faults: Sequence[Fault]
    remarks: Sequence[str]
    tables: Sequence[ExtraTable]
    ranks: Mapping[int | None, RankDigest]
    cause: str | None
    files: int
    modified: float


def digest(root: Path, path: Path, dialect_name: str, window: Window, logs: int = 1) -> Digest:
    """`logs` is how many there are, which have to have room in memory together."""
    dialect = dialect_named(dialect_name)
    log = LogFile(path)
    relative = PurePath(path.relative_to(root))
    of_path = {**place_in(root.absolute(), relative), **_own_place(dialect, path)}
    reading = dialect.read(log, window, {name: value for name, value in of_path.items() if name != "batch"})
    facts = {**of_path, **reading.facts}
    if facts.get("batch") != of_path.get("batch", facts.get("batch")):
        reading.remarks.append(f"The path says {of_path['batch']} per device, the log {facts['batch']}: that counts.")
    cause = cause_line([_distinct(log.tail())])
    return as_digest(relative, dialect_name, reading, facts, [path], cause, logs)


def as_digest(
    path: PurePath,
    dialect_name: str,
    reading: Reading,
    facts: Mapping[str, Any],
    files: Sequence[Path],
    cause: str | None = None,
    logs: int = 1,
) -> Digest:
    ranks = logs * len(reading.series)
    stated, odd = _believed(reading.stated)
    return Digest(
        path=PurePath(printable(path)),
        dialect=dialect_name,
        facts=printable_facts(facts),
        stated=stated,
        faults=[Fault(state, printable(reason)) for state, reason in [*reading.faults, *_broken_losses(reading)]],
        remarks=[printable(remark) for remark in [*reading.remarks, *odd]],
        tables=[_printable_table(table) for table in reading.tables],
        ranks={rank: _rank_digest(series, ranks) for rank, series in reading.series.items()},
        cause=None if cause is None else printable(cause),
        files=len(files),
        modified=max(file.stat().st_mtime for file in files),
    )


def _printable_table(table: ExtraTable) -> ExtraTable:
    rows = [[printable(cell) if isinstance(cell, str) else cell for cell in row] for row in table.rows]
    return ExtraTable(printable(table.title), table.headings, rows)


def _distinct(text: str) -> str:
    """The last of all lines that differ in their digits only: what says why a training ended is none of its steps."""
    alike = zip(reversed(text.translate(_NO_DIGITS).splitlines()), reversed(text.splitlines()))
    lines: dict[str, str] = {}
    for shape, line in alike:
        lines.setdefault(shape, line)
    return "\n".join(reversed(lines.values()))


def _own_place(dialect: Dialect, path: Path) -> Mapping[str, Any]:
    """Some look at what is beside the folder of the log."""
    return dialect.place(path.absolute()) if dialect.place else {}


def _broken_losses(reading: Reading) -> list[Fault]:
    broken = [series.broken_loss for series in reading.series.values() if series.broken_loss is not None]
    return [Fault("nan_loss", f"The loss of step {step} is not a finite number.") for step, _ in broken[:1]]


def _believed(stated: Mapping[str, float]) -> tuple[Mapping[str, float], Sequence[str]]:
    """What can be, and sentences on the rest."""
    odd = {
        name: value
        for name, value in stated.items()
        if not math.isfinite(value)
        or (name in _ABOVE_ZERO and value <= 0)
        or (name == "accuracy" and not 0 <= value <= 1)
    }
    believed = {name: value for name, value in stated.items() if name not in odd}
    return believed, [f"The log states {value:g} as {name}, which cannot be: left out." for name, value in odd.items()]


def _rank_digest(series: Series, ranks: int) -> RankDigest:
    """`ranks` is how many there are in all logs."""
    rows = series.rows
    inside = rows.pick(_in_window(rows, series.window))
    with np.errstate(over="ignore"):
        seconds = float(inside.seconds.sum())
    times = rows.time[np.isfinite(rows.time)]
    return RankDigest(
        steps=float(inside.steps.sum()),
        samples=float(inside.samples.sum()) if len(inside) else float("nan"),
        seconds=seconds,
        first=float((inside.step - inside.steps)[0]) if len(inside) else float("nan"),
        last=float(inside.step[-1]) if len(inside) else float("nan"),
        end_of_log=float(rows.step[-1]) if len(rows) else 0.0,
        step_seconds=array(
            "d", _thinned(inside.seconds / inside.steps, min(_MOST_STEP_SECONDS, _MOST_STEP_SECONDS_OF_ALL // ranks))
        ),
        losses=_losses(rows, min(_MOST_LOSSES, _MOST_LOSSES_OF_ALL // ranks)),
        finished=float(times[-1]) if len(times) and _DATED < times[-1] < _YEAR_2100 else None,
    )


def _in_window(rows: Rows, window: Window) -> Array:
    inside = rows.step - rows.steps >= window.warmup
    return inside if window.last is None else inside & (rows.step <= window.last)


def _losses(rows: Rows, most: int) -> list[tuple[int, float]]:
    logged = rows.pick(np.isfinite(rows.loss) & (np.abs(rows.step) < _MOST_STEPS))
    steps, losses = _thinned(logged.step, most), _thinned(logged.loss, most)
    return list(zip(steps.astype(int).tolist(), losses.tolist()))


def _thinned(values: Array, most: int) -> Array:
    """Evenly over the log, with its last one."""
    if len(values) <= max(most, _LEAST):
        return values
    return values[np.linspace(0, len(values) - 1, max(most, _LEAST)).astype(int)]

"""Reads one log and keeps what its numbers need, however long it is."""

from __future__ import annotations

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
from .placing import place

_MOST_STEP_SECONDS = 2000
_MOST_LOSSES = 500
_NO_DIGITS = dict.fromkeys(map(ord, "0123456789"))
_DATED = 365 * 86400.0  # an earlier time is one of day, without a date


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


def digest(root: Path, path: Path, dialect_name: str, window: Window) -> Digest:
    dialect = dialect_named(dialect_name)
    log = LogFile(path)
    relative = PurePath(path.relative_to(root))
    of_path = {**place(relative), **_own_place(dialect, path)}
    reading = dialect.read(log, window, {name: value for name, value in of_path.items() if name != "batch"})
    facts = {**of_path, **reading.facts}
    if facts.get("batch") != of_path.get("batch", facts.get("batch")):
        reading.remarks.append(f"The path says {of_path['batch']} per device, the log {facts['batch']}: that counts.")
    return as_digest(relative, dialect_name, reading, facts, [path], cause_line([_distinct(log.tail())]))


def as_digest(
    path: PurePath,
    dialect_name: str,
    reading: Reading,
    facts: Mapping[str, Any],
    files: Sequence[Path],
    cause: str | None = None,
) -> Digest:
    return Digest(
        path=path,
        dialect=dialect_name,
        facts=facts,
        stated=reading.stated,
        faults=[*reading.faults, *_broken_losses(reading)],
        remarks=reading.remarks,
        tables=reading.tables,
        ranks={rank: _rank_digest(series) for rank, series in reading.series.items()},
        cause=cause,
        files=len(files),
        modified=max(file.stat().st_mtime for file in files),
    )


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


def _rank_digest(series: Series) -> RankDigest:
    rows = series.rows
    inside = rows.pick(_in_window(rows, series.window))
    times = rows.time[np.isfinite(rows.time)]
    return RankDigest(
        steps=float(inside.steps.sum()),
        samples=float(inside.samples.sum()) if len(inside) else float("nan"),
        seconds=float(inside.seconds.sum()),
        first=float((inside.step - inside.steps)[0]) if len(inside) else float("nan"),
        last=float(inside.step[-1]) if len(inside) else float("nan"),
        end_of_log=float(rows.step[-1]) if len(rows) else 0.0,
        step_seconds=_thinned(inside.seconds / inside.steps, _MOST_STEP_SECONDS).tolist(),
        losses=_losses(rows),
        finished=float(times[-1]) if len(times) and times[-1] > _DATED else None,
    )


def _in_window(rows: Rows, window: Window) -> Array:
    inside = rows.step - rows.steps >= window.warmup
    return inside if window.last is None else inside & (rows.step <= window.last)


def _losses(rows: Rows) -> list[tuple[int, float]]:
    logged = rows.pick(np.isfinite(rows.loss))
    steps, losses = _thinned(logged.step, _MOST_LOSSES), _thinned(logged.loss, _MOST_LOSSES)
    return list(zip(steps.astype(int).tolist(), losses.tolist()))


def _thinned(values: Array, most: int) -> Array:
    """Evenly over the log, with its last one."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).astype(int)]

"""What is kept of a log that was read: sums over what was measured, and little of the rest, however long it is."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Mapping, Sequence

import numpy as np

from .arrays import Array
from .clocks import clock_jumps
from .printable import printable, printable_facts
from .printed_rates import PrintedRate
from .reading import Ending, Evaluation, ExtraTable, Fault, Pause, Reading, Trial
from .series import Rows, Series, in_window

# What percentiles and pictures are made of: of one rank, and of all ranks of all logs together.
_MOST_STEP_SECONDS, _MOST_STEP_SECONDS_OF_ALL = 20_000, 4_000_000
_MOST_LOSSES, _MOST_LOSSES_OF_ALL = 2_000, 2_000_000
_LEAST = 10
_MOST_STEPS = 1e15
_DATED, _YEAR_2100 = 365 * 86400.0, 4102444800.0  # an earlier time is one of day, without a date, a later one is none
_ABOVE_ZERO = ("throughput", "whole", "no_eval", "time_to_train_s", "e2e_s", "mfu_flagperf", "energy_j")


@dataclass(frozen=True)
class RankDigest:
    """Sums over the measured window, which begins after step `first` and ends with step `last` of the log.

    `samples` is nan where the log counts steps only; `seconds` are per sample of a step's batch where `relative`.
    `logged_steps`, `logged_samples` and `logged_seconds` are of the whole log, `straddling` is a line that the window
    begins inside of: its first and its last step, `broken_loss` the first step whose loss is no finite number. `begin`
    is when the first step began, `measured` when the window did and when it ended, `before` the end of the line before
    it, `finished` that of the last step; None where lines do not tell the time. `clock_jump` is how far the wall clock
    was set meanwhile, as far as that can be seen; it is left out of these times. `printed` is what the log says of its
    own speed.
    """

    steps: float
    samples: float
    seconds: float
    first: float
    last: float
    end_of_log: float
    logged_steps: float
    logged_samples: float
    logged_seconds: float
    is_unbroken: bool
    straddling: tuple[int, int] | None
    broken_loss: int | None
    begin: float | None
    measured: tuple[float, float] | None
    before: float | None
    finished: float | None
    clock_jump: float
    step_seconds: Sequence[float]
    loss_steps: Sequence[float]
    losses: Sequence[float]
    printed: PrintedRate | None = None

    @property
    def samples_per_step(self) -> float | None:
        per_step = self.logged_samples / self.logged_steps if self.logged_steps else math.nan
        return per_step if math.isfinite(per_step) else None


@dataclass(frozen=True)
class Digest:
    """Of one log, or of a folder that is one as a whole. `files` is how many it is, `modified` when the last was,
    `ending` is that of a training that died or lacks steps; of the other fields tells `Reading`."""

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
    evaluations: Sequence[Evaluation] = ()
    pauses: Sequence[Pause] = ()
    trials: Sequence[Trial] = ()
    unstated: Mapping[str, str] = field(default_factory=dict)
    ending: Ending | None = None
    began: float | None = None
    ended: float | None = None
    by_steady_clock: bool = False
    steps_untimed: bool = False


def as_digest(
    path: PurePath,
    dialect_name: str,
    reading: Reading,
    facts: Mapping[str, Any],
    files: Sequence[Path],
    cause: str | None = None,
    logs: int = 1,
    ending: Ending | None = None,
) -> Digest:
    """`logs` is how many there are, which have to have room in memory together."""
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
        ranks={rank: _rank_digest(series, ranks, reading.by_steady_clock) for rank, series in reading.series.items()},
        cause=None if cause is None else printable(cause),
        files=len(files),
        modified=max(file.stat().st_mtime for file in files),
        evaluations=reading.evaluations,
        pauses=reading.pauses,
        trials=reading.trials,
        unstated={name: printable(reason) for name, reason in reading.unstated.items()},
        ending=ending,
        began=reading.began,
        ended=reading.ended,
        by_steady_clock=reading.by_steady_clock,
        steps_untimed=reading.steps_untimed,
    )


def _printable_table(table: ExtraTable) -> ExtraTable:
    rows = [[printable(cell) if isinstance(cell, str) else cell for cell in row] for row in table.rows]
    return ExtraTable(printable(table.title), table.headings, rows)


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


def _rank_digest(series: Series, ranks: int, by_steady_clock: bool) -> RankDigest:
    """`ranks` is how many there are in all logs."""
    rows = series.rows
    jumps = np.zeros(len(rows)) if by_steady_clock else clock_jumps(rows)
    times = rows.time - np.cumsum(jumps)
    times = times[np.isfinite(times)]
    loss_steps, losses = _losses(rows, min(_MOST_LOSSES, _MOST_LOSSES_OF_ALL // ranks))
    inside = rows.pick(in_window(rows, series.window))
    with np.errstate(over="ignore"):
        seconds, logged_seconds = float(inside.seconds.sum()), float(rows.seconds.sum())
    return RankDigest(
        steps=float(inside.steps.sum()),
        samples=float(inside.samples.sum()) if len(inside) else math.nan,
        seconds=seconds,
        first=float((inside.step - inside.steps)[0]) if len(inside) else math.nan,
        last=float(inside.step[-1]) if len(inside) else math.nan,
        end_of_log=float(rows.step[-1]) if len(rows) else 0.0,
        logged_steps=float(rows.steps.sum()),
        logged_samples=float(rows.samples.sum()) if len(rows) else math.nan,
        logged_seconds=logged_seconds,
        is_unbroken=series.is_unbroken,
        straddling=_straddling(rows, series.window.warmup),
        broken_loss=None if series.broken_loss is None else series.broken_loss[0],
        begin=_dated(series.begin),
        measured=_both_dated(_steadily(series, rows, np.cumsum(jumps))),
        before=_dated(series.before) if by_steady_clock else None,
        finished=_dated(float(times[-1])) if len(times) else None,
        clock_jump=float(jumps[np.argmax(np.abs(jumps))]) if len(jumps) else 0.0,
        step_seconds=array("d", _step_seconds(inside, min(_MOST_STEP_SECONDS, _MOST_STEP_SECONDS_OF_ALL // ranks))),
        loss_steps=loss_steps,
        losses=losses,
        printed=series.printed.found,
    )


def _steadily(series: Series, rows: Rows, jumped: Array) -> tuple[float, float] | None:
    """When the window began and ended by a clock that nobody set; `jumped` is how far it was at each row's end."""
    places = np.flatnonzero(in_window(rows, series.window))
    if series.measured is None or not len(places):
        return None
    return series.measured[0] - float(jumped[places[0]]), series.measured[1] - float(jumped[places[-1]])


def _straddling(rows: Rows, warmup: int) -> tuple[int, int] | None:
    """The first line on steps of the warm-up and on measured ones."""
    found = np.flatnonzero((rows.step - rows.steps < warmup) & (rows.step > warmup))
    if not len(found):
        return None
    return int(rows.step[found[0]] - rows.steps[found[0]]) + 1, int(rows.step[found[0]])


def _dated(time: float) -> float | None:
    return time if math.isfinite(time) and _DATED < time < _YEAR_2100 else None


def _both_dated(times: tuple[float, float] | None) -> tuple[float, float] | None:
    begin, end = (None, None) if times is None else map(_dated, times)
    return None if begin is None or end is None else (begin, end)


def _step_seconds(rows: Rows, most: int) -> Array:
    """One for each step; where a line gives the time of several steps at once, each of them took the mean."""
    with np.errstate(over="ignore"):
        means = rows.seconds / rows.steps
        steps = rows.steps.sum()
    if steps == len(rows) or not 0 < steps <= max(most, _LEAST):
        return _thinned(means, most)
    repeated: Array = np.repeat(means, np.maximum(rows.steps, 1).astype(np.intp))
    return repeated


def _losses(rows: Rows, most: int) -> tuple[array[float], array[float]]:
    """Steps, and the losses that were logged with them."""
    logged = rows.pick(np.isfinite(rows.loss) & (np.abs(rows.step) < _MOST_STEPS))
    return array("d", _thinned(logged.step, most)), array("d", _thinned(logged.loss, most))


def _thinned(values: Array, most: int) -> Array:
    """Evenly over the log, with its last one."""
    if len(values) <= max(most, _LEAST):
        return values
    return values[np.linspace(0, len(values) - 1, max(most, _LEAST)).astype(int)]

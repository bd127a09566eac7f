"""The fold of most dialects: one line tells how far the training is and how long it took to get there.

Which kinds of line mean what is said by their names:
    step      an interval; which of its fields is what, says `Steps`
    fact...   its fields are facts
    stated... its fields are what the log states came out; the last one counts
Other kinds only help to recognise the dialect.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Sized

import numpy as np

from .arrays import Array
from .log_file import MOST_RANKS
from .matching import Found, Table
from .reading import Fault, Fold, Reading
from .series import Rows, Series, Window, in_window, joined, rows
from .stamps import Stamps
from .step_timing import Clock, Rate, Seconds, Stamp, Steps

_DAY = 86400.0
_FEW_LINES = 3  # that may be out of order


class StepLines(Fold):
    def __init__(self, window: Window, steps: Steps) -> None:
        super().__init__(window)
        self._steps = steps
        self._ranks: dict[int | None, _Intervals] = {}

    def take(self, found: Found, rank: int | None) -> None:
        for name, table in found.items():
            if name == "step":
                self._take_steps(table, rank)
            elif name.startswith("fact"):
                self.note(_as_facts(next(table.rows())))
            elif name.startswith("stated"):
                self.reading.stated.update(_as_numbers(list(table.rows())[-1]))

    def finish(self) -> Reading:
        for intervals in self._ranks.values():
            intervals.settle()
            self.reading.remarks += intervals.remarks
            self.reading.faults += intervals.faults
        return self.reading

    def _take_steps(self, table: Table, rank: int | None) -> None:
        if self._steps.rank is None:
            self._of(rank).take(table.fields)
            return
        for number, lines in by_number(table.fields[self._steps.rank]):
            if number in self._ranks or len(self._ranks) < MOST_RANKS:
                self._of(number).take({name: _where(values, lines) for name, values in table.fields.items()})
            elif not self.reading.faults:
                self.reading.faults.append(too_many_ranks())

    def _of(self, rank: int | None) -> _Intervals:
        if rank not in self._ranks:
            self._ranks[rank] = _Intervals(self._steps, self.reading.of_rank(rank), self._ranks)
        return self._ranks[rank]


class _Intervals:
    """The lines of one rank, which become intervals once enough are there to see how far apart they are."""

    def __init__(self, steps: Steps, series: Series, ranks: Sized) -> None:
        self.faults: list[Fault] = []
        self._remarks: list[str] = []
        self._stamps = Stamps()
        self._declared = steps
        self._series = series
        self._all_ranks = ranks
        self._waiting: list[Rows] = []
        self._printed: list[Array] = []
        self._written: list[Array] = []
        self._last_written = self._last_line = np.nan
        self._begins_epoch: list[Array] = []  # of each waiting line, whether it is the first of another epoch
        self._every: float | None = None
        self._lines = 0
        self._step = 0.0
        self._time = 0.0
        self._days = 0.0
        self._epoch: float | None = None
        self._last_in_epoch = self._done = 0.0

    @property
    def remarks(self) -> list[str]:
        return [*self._remarks, *self._stamps.remarks]

    def take(self, fields: Mapping[str, Any]) -> None:
        declared, timing = self._declared, self._declared.check or self._declared.timing
        count = len(next(iter(fields.values())))
        begins_epoch = self._looks_for_epochs(fields, count)
        step = self._numbers_of_steps(fields, count, begins_epoch)
        duration = (
            fields[timing.field] * timing.scale if isinstance(timing, (Seconds, Rate)) else np.full(count, np.nan)
        )
        loss = fields.get(declared.loss) if declared.loss else None
        if loss is not None:
            loss = np.where(np.isnan(loss), np.inf, loss)
        samples = fields[declared.samples] if declared.samples else None
        self._waiting.append(
            rows(step, self._named(fields, count), duration, samples, loss, self._times(fields, count))
        )
        self._begins_epoch.append(begins_epoch)
        if declared.printed is not None:
            self._printed.append(fields[declared.printed])
        if declared.written is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                self._written.append(self._by_clock(fields, declared.written))
        self._lines += count
        if sum(map(len, self._waiting)) >= enough_lines(self._all_ranks):
            self.settle()

    def settle(self) -> None:
        if self._waiting:
            waiting, begins_epoch = joined(self._waiting), np.concatenate(self._begins_epoch)
            self._waiting, self._begins_epoch = [], []
            self._series.note_broken_loss(waiting)  # also of lines whose interval is left out
            intervals = self._as_intervals(waiting, begins_epoch)
            self._series.add(intervals)
            if self._printed:
                self._check_rates(waiting, intervals)
            if self._written:
                self._check_by_clock(waiting)

    def _check_by_clock(self, lines: Rows) -> None:
        """Where the rates are what counts; `seconds` of a line is its rate here."""
        written, self._written = np.concatenate(self._written), []
        seconds = np.diff(written, prepend=self._last_written)
        steps = np.diff(lines.step, prepend=self._last_line)
        self._last_written, self._last_line = float(written[-1]), float(lines.step[-1])
        known = np.flatnonzero((seconds > 0) & (steps > 0))
        between = Rows(lines.step, steps, *lines.columns()[2:]).pick(known)
        measured = in_window(between, self._series.window)
        self._series.printed.add(between.seconds[measured], seconds[known][measured], between.steps[measured])

    def _check_rates(self, lines: Rows, intervals: Rows) -> None:
        rates, self._printed = np.concatenate(self._printed), []
        steps, first = np.unique(lines.step, return_index=True)
        measured = intervals.pick(in_window(intervals, self._series.window))
        of_measured = rates[first[np.searchsorted(steps, measured.step)]]
        self._series.printed.add(of_measured, measured.seconds, measured.steps)

    def _named(self, fields: Mapping[str, Any], count: int) -> Array:
        """How many steps each line says that it is about; 0 where lines do not say it."""
        timing = self._declared.timing
        named = fields[timing.of_steps] if isinstance(timing, Seconds) and timing.of_steps else None
        return np.zeros(count) if named is None else named

    def _looks_for_epochs(self, fields: Mapping[str, Any], count: int) -> Array:
        if self._declared.epoch is None:
            return np.zeros(count, bool)
        epoch = fields[self._declared.epoch]
        before = epoch[0] if self._epoch is None else self._epoch
        self._epoch = float(epoch[-1])
        return np.diff(epoch, prepend=before) > 0

    def _numbers_of_steps(self, fields: Mapping[str, Any], count: int, begins_epoch: Array) -> Array:
        declared = self._declared
        if declared.step is None:
            return (self._lines + 1 + np.arange(count)) * declared.every
        step = fields[declared.step] + declared.offset
        if declared.epoch is None:
            return step
        if declared.epoch_steps:
            return step + fields[declared.epoch] * fields[declared.epoch_steps]
        return self._over_epochs(step, begins_epoch)

    def _over_epochs(self, step: Array, begins_epoch: Array) -> Array:
        """Where nothing says how many steps an epoch has, it has those up to its last line."""
        before = np.concatenate(([self._last_in_epoch], step[:-1]))
        done = self._done + np.cumsum(np.where(begins_epoch, before, 0))
        self._last_in_epoch, self._done = float(step[-1]), float(done[-1])
        return step + done

    def _times(self, fields: Mapping[str, Any], count: int) -> Array:
        timing = self._declared.timing
        if self._declared.time is not None:
            return np.asarray(fields[self._declared.time], float)
        if isinstance(timing, Stamp):
            return fields[timing.field] * timing.scale
        if not isinstance(timing, Clock):
            return np.full(count, np.nan)
        with np.errstate(over="ignore", invalid="ignore"):
            return self._by_clock(fields, timing)

    def _by_clock(self, fields: Mapping[str, Any], timing: Clock) -> Array:
        clock = fields[timing.hour] * 3600 + fields[timing.minute] * 60 + fields[timing.second]
        if timing.dated:
            return clock + _days(fields["year"], fields["month"], fields["day"]) * _DAY
        return self._over_midnight(clock)

    def _over_midnight(self, clock: Array) -> Array:
        """A time of day half a day before that of the line before it is one of the next day."""
        before = np.concatenate(([self._time % _DAY if self._lines else clock[0]], clock[:-1]))
        days = self._days + np.cumsum(clock - before < -_DAY / 2)
        self._days = float(days[-1])
        times = clock + days * _DAY
        self._time = float(times[-1])
        return times

    def _as_intervals(self, lines: Rows, begins_epoch: Array) -> Rows:
        timing = self._declared.timing
        since = np.diff(lines.step, prepend=self._step)
        self._step = float(lines.step[-1])
        self._look_for_restart(lines, since)
        if isinstance(timing, (Stamp, Clock)):
            return self._stamps.intervals(lines, begins_epoch)
        if isinstance(timing, Seconds) and (timing.of_last_step or timing.of_steps):
            steps, seconds = np.ones(len(lines)) if timing.of_last_step else lines.steps, lines.seconds
        else:
            steps = self._covered(since)
            per_step = isinstance(timing, Seconds) and timing.per_step
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                if isinstance(timing, Rate):
                    seconds = steps / lines.seconds
                else:
                    seconds = lines.seconds * steps if per_step else lines.seconds
        good = (seconds > 0) & np.isfinite(seconds) & (steps > 0)
        if not good.all():
            self._remarks.append(
                f"{int((~good).sum())} of {len(good)} lines are left out: they name no usable duration."
            )
        return Rows(lines.step, steps, seconds, lines.samples, lines.loss, lines.time).pick(good)

    def _covered(self, since: Array) -> Array:
        """A line covers the steps since the line before it, unless lines are missing in between."""
        if self._every is None:
            usual = since[since > 0]
            self._every = float(np.median(usual)) if len(usual) else 1.0
        return np.where(since > 0, np.minimum(since, self._every), self._every)

    def _look_for_restart(self, lines: Rows, since: Array) -> None:
        back = np.flatnonzero(since < 0)
        if not len(back) or self.faults:
            return
        step, after = int(lines.step[back[0]]), int(lines.step[back[0]] - since[back[0]])
        usual = np.median(since[since > 0]) if (since > 0).any() else 1
        is_near = after - step <= _FEW_LINES * usual
        what = "lines are out of order, or there twice" if is_near else "the log holds more than one training"
        self.faults.append(Fault("incomplete", f"After step {after} comes step {step}: {what}."))


def _days(year: Array, month: Array, day: Array) -> Array:
    """Days since 1970 of dates in the Gregorian calendar."""
    months = (year - 1970) * 12 + month - 1
    inside = (months > -24000) & (months < 960000) & (month >= 1) & (month <= 12)
    first = np.where(inside, months, 0).astype("datetime64[M]").astype("datetime64[D]").astype(float)
    return np.where(inside, first + day - 1, np.nan)


def _as_facts(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        name: value.decode(errors="replace")
        if isinstance(value, bytes)
        else int(value)
        if value == value // 1
        else value
        for name, value in row.items()
    }


def _as_numbers(row: Mapping[str, Any]) -> Mapping[str, float]:
    return {name: float(value) for name, value in row.items() if np.isfinite(value)}


def _where(values: Array, chosen: Array) -> Array:
    return values[chosen] if isinstance(values, np.ndarray) else [values[number] for number in chosen.tolist()]


def by_number(numbers: Array) -> Iterator[tuple[int, Array]]:
    """Each number with the places where it stands."""
    order = np.argsort(numbers, kind="stable")
    begins = np.flatnonzero(np.diff(numbers[order]) != 0) + 1
    for places in np.split(order, begins) if len(order) else ():
        yield int(numbers[places[0]]), places


def enough_lines(ranks: Sized) -> int:
    """As many of each rank wait until it is looked at how far apart they are; those of all ranks have to stay few."""
    return max((1 << 15) // len(ranks), 64)


def too_many_ranks() -> Fault:
    return Fault("wrong_world_size", f"The log names more than {MOST_RANKS} ranks.")

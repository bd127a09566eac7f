"""The blocks of steps that MindSpore's callbacks tell of, of one rank or of several that write alike."""

from __future__ import annotations

from typing import Mapping, Sequence, Sized

import numpy as np

from ..logs.arrays import Array
from ..logs.matching import Found, Table
from ..logs.reading import Fault
from ..logs.series import Series, rows
from ..logs.step_lines import enough_lines

_HALF_DIGIT = 0.000501  # times are printed with three decimals of a millisecond

_LOSS = ("epoch", "step", "loss")
LOSSES: Mapping[str, Sequence[str]] = {
    "loss": _LOSS,
    "loss with comma": _LOSS,
    "loss without colon": _LOSS,
    "loss in brackets": _LOSS,
    "loss without blanks": _LOSS,
    # Its steps count from the begin of the training, so they name no block.
    "loss of bert": ("step", "", ""),
}
TIMES: Mapping[str, Sequence[str]] = {
    "time": ("ms", "step_ms"),
    "time of a toolkit": ("ms", "step_ms"),
    "time alone": ("ms", ""),
}


class Blocks:
    """The lines of one rank, or of several that write alike, until enough of them are there to be put together."""

    def __init__(self, series: Series, ranks: Sized, is_our_own: bool, batch: int | None) -> None:
        """`batch` is that of each rank, where one alone writes; else it is not said whose it is."""
        self.faults: list[Fault] = []
        self.remarks: list[str] = []
        self.ranks = 1 if is_our_own else 0
        self._is_our_own = is_our_own
        self._samples_per_step = float(batch) if is_our_own and batch else np.nan
        self._furthest = 0.0  # epoch
        self._series = series
        self._all_ranks = ranks
        # Rows: block ms, step ms; epoch, step and loss of the loss line before; number and time of the record before.
        self._times: list[Array] = []
        self._record = np.array([0.0, np.nan])
        self._last_record, self._since_record = -1.0, 0.0  # of the last block, and the seconds of blocks since then
        self._last_loss = np.array([np.nan, 0.0, np.nan])
        self._first_losses: list[Array] = []
        self._step = 0.0
        self._contradictions = 0
        self._mixed = False

    def take(self, found: Found, records: Array) -> None:
        """`records` are places and times of what the program says beside its blocks."""
        losses, times = _together(found, LOSSES), _together(found, TIMES)
        losses[np.isnan(losses[:, 2]), 2] = 0
        if "evaluation" in found:
            times = times[~np.isin(times[:, 0], found["evaluation"].at + len("Eval "))]
        if not self.ranks and len(self._first_losses) < 4:
            self._first_losses.append(losses[: 1 << 13, 1:3])
        known = np.vstack([[-1.0, *self._last_loss], losses])
        before = known[np.searchsorted(known[:, 0], times[:, 0]) - 1]
        self._times.append(np.column_stack([times[:, 1:3], before[:, 1:4], self._records_before(times[:, 0], records)]))
        self._last_loss = known[-1, 1:]
        if sum(map(len, self._times)) >= enough_lines(self._all_ranks):
            self._settle(last=False)

    def _records_before(self, at: Array, records: Array) -> Array:
        """Number and time of the record before each place."""
        numbers = self._record[0] + np.arange(len(records) + 1)
        known = np.column_stack([numbers, np.append(self._record[1], records[:, 1])])
        self._record = known[-1]
        return known[np.searchsorted(records[:, 0], at)]

    def finish(self) -> None:
        self._settle(last=True)
        if self._mixed:
            self.faults.append(
                Fault(
                    "incomplete", f"Lines of some of the {self.ranks} ranks are missing: their blocks cannot be told."
                )
            )
        if self._contradictions:
            self.remarks.append(
                f"{self._contradictions} blocks are left out: their times and their steps contradict each other."
            )

    def _settle(self, last: bool) -> None:
        if not self._times:
            return
        if not self.ranks:
            self.ranks = _ranks_that_write(np.vstack(self._first_losses))
            self._first_losses = []
        times = np.vstack(self._times)
        whole = len(times) // self.ranks * self.ranks
        self._times = [times[whole:]]
        if last and whole < len(times):
            self.remarks.append(f"The last block has times of {len(times) - whole} of {self.ranks} ranks: left out.")
        if whole:
            self._add(times[:whole].reshape(-1, self.ranks, 7))

    def _add(self, blocks: Array) -> None:
        """`blocks` by block and rank. Without a loss line between two blocks the number of steps is asked of times."""
        with np.errstate(over="ignore"):
            ms, step_ms = blocks[:, :, 0].mean(1), blocks[:, :, 1].mean(1)
        epoch, logged, loss = blocks[:, 0, 2], blocks[:, :, 3].max(1), blocks[:, 0, 4]
        self._look_for_restart(blocks[:, :, 2].ravel())
        self._mixed = bool((blocks[-1, :, 2] != epoch[-1]).any()) and np.isfinite(epoch[-1])
        steps = _steps(ms, step_ms, logged)
        bad = ~np.isfinite(steps) | ~(ms > 0)
        self._contradictions += int(bad.sum())
        ordinal = self._step + np.cumsum(np.where(bad, 0, steps))
        by_epoch = epoch * steps
        named = np.isfinite(by_epoch) & (by_epoch >= ordinal) & (logged == steps)
        step = np.where(named, by_epoch, ordinal)
        step = np.maximum.accumulate(np.where(np.isfinite(step), step, 0))
        self._step = float(step[-1])
        time = self._ends(np.where(bad, 0, ms / 1000), blocks[:, 0, 5], blocks[:, 0, 6])
        self._series.add(rows(step, steps, ms / 1000, steps * self._samples_per_step, loss, time).pick(~bad))

    def _ends(self, seconds: Array, record: Array, time_of_record: Array) -> Array:
        """When each block ended; nan where no record has told the time."""
        done = np.cumsum(seconds)
        first = np.searchsorted(record, record)  # the first block after the same record
        before = np.where(first > 0, done[first - 1], 0.0)
        is_carried_on = record == self._last_record
        since = done - before + np.where(is_carried_on, self._since_record, 0.0)
        self._last_record, self._since_record = float(record[-1]), float(since[-1])
        ends: Array = time_of_record + since
        return ends

    def _look_for_restart(self, epochs: Array) -> None:
        """Of several ranks one may be an epoch behind the others."""
        epochs = epochs[np.isfinite(epochs)]
        if self._is_our_own or not len(epochs):
            return
        before = np.maximum.accumulate(np.append(self._furthest, epochs))
        self._furthest = float(before[-1])
        apart: Array = np.diff(np.unique(epochs)) if self.ranks > 1 else np.empty(0)
        again = np.flatnonzero(epochs < before[:-1] - (np.median(apart) if len(apart) else 0))
        if len(again) and not self.faults:
            self.faults.append(more_than_one_training(before[again[0]], epochs[again[0]]))


def more_than_one_training(before: float, after: float) -> Fault:
    reason = f"After epoch {before:.0f} comes epoch {after:.0f}: the log holds more than one training."
    return Fault("incomplete", reason)


def _steps(ms: Array, step_ms: Array, logged: Array) -> Array:
    """How many steps both times agree on; nan where they contradict each other or the step of the loss line.

    Without a sink LossMonitor may last have spoken some steps before the end of the block, never after it.
    """
    with np.errstate(all="ignore"):
        by_times = np.rint(ms / step_ms)
        differences = [np.abs(ms - candidate * step_ms) for candidate in (by_times, logged)]
    steps = np.full(len(ms), np.nan)
    for candidate, difference in zip((by_times, logged), differences):
        agrees = difference <= (candidate + 1) * _HALF_DIGIT
        agrees |= np.isnan(step_ms)
        steps = np.where(agrees & (candidate >= np.maximum(logged, 1)), candidate, steps)
    return steps


def _ranks_that_write(losses: Array) -> int:
    """How often the first block is named before the epochs begin anew."""
    if not len(losses):
        return 1
    epochs = losses[:, 0]
    restarts = np.flatnonzero(epochs < np.maximum.accumulate(epochs) - 1)
    first_training = losses[: restarts[0]] if len(restarts) else losses
    return max(1, int((first_training == losses[0]).all(1).sum()))


def _together(found: Found, kinds: Mapping[str, Sequence[str]]) -> Array:
    """A row per line of these kinds in the order of the log: where it is, then the fields."""
    width = len(next(iter(kinds.values())))
    parts = [
        np.column_stack([found[kind_name].at, *(column(found[kind_name], name) for name in names)])
        for kind_name, names in kinds.items()
        if kind_name in found
    ]
    if len(parts) == 1:
        return parts[0]
    joined = np.vstack([np.empty((0, 1 + width)), *parts])
    return joined[np.argsort(joined[:, 0], kind="stable")]


def column(table: Table, name: str) -> Array:
    """nan is what is not there; a loss that is not a number is infinite."""
    if not name:
        return np.full(len(table), np.nan)
    values = table.fields[name]
    return np.where(np.isnan(values), np.inf, values) if name == "loss" else values

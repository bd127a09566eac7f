"""MindSpore's callbacks, in logs of one rank and of many whose lines cannot be told apart.

    epoch: 3 step: 10, loss is 6.910
    Train epoch time: 4812.345 ms, per step time: 481.234 ms
    [Device 2] Epoch 3/60, train time: 4812.345, per step time: 481.234, loss: 6.91

LossMonitor names the block of steps and the loss, TimeMonitor how long the block took. Without labels the blocks of
the ranks are taken in the order in which they come, as many at a time as there are ranks: their mean counts, as
DLPerf's does. Older versions write "epoch time:", vision toolkits "Epoch time:", Atlas scripts name the device.

Epochs that begin anew are those of another training, but for two kinds of log: in Rackmark's own, of one rank each,
and where a line with HPO-<number> has ended the training before, which AIPerf writes.
"""

from __future__ import annotations

from typing import Mapping, Sequence, Sized

import numpy as np

from .arrays import Array
from .dialect import Dialect
from .log_file import MOST_RANKS
from .matching import Found, Table, kind
from .reading import Fault, Fold, Reading
from .series import Series, Window, rows
from .step_lines import by_number, enough_lines, too_many_ranks

_HALF_DIGIT = 0.000501  # times are printed with three decimals of a millisecond

KINDS = (
    kind("loss", "epoch: {epoch:int} step: {step:int}, loss is {loss:float}"),
    kind("loss with comma", "epoch: {epoch:int}, step: {step:int}, loss is {loss:float}"),
    kind("loss without colon", "epoch: {epoch:int} step {step:int}, loss is {loss:float}"),
    kind("loss in brackets", "epoch: {epoch:int} step: {step:int}, loss is [{loss:float}"),
    kind("loss of bert", "epoch: {epoch:int}, current epoch percent: {percent:float}, step: {step:int}, outputs are ("),
    kind("time", "epoch time: {ms:float} ms, per step time: {step_ms:float} ms"),
    kind("time of a toolkit", "Epoch time: {ms:float} ms, per step time: {step_ms:float} ms"),
    kind("time alone", "epoch time: {ms:float} ms"),
    kind("evaluation", "Eval epoch time: {ms:float} ms"),
    kind(
        "device",
        "[Device {device:int}] Epoch {epoch:int}/{epochs:int}, train time: {ms:float},"
        " per step time: {step_ms:float}, loss: {loss:float}",
    ),
    kind("accuracy", "[Device {device:int}] Epoch {epoch:int}/{epochs:int}, EvalAcc:{accuracy:float}"),
    kind("fact end of training", "HPO-{number:int}"),
    *(kind(f"record {event}", f'RACKMARK {{"event": "{event}"') for event in ("start", "eval", "checkpoint", "end")),
)
_LOSS = ("epoch", "step", "loss")
_LOSSES = {
    "loss": _LOSS,
    "loss with comma": _LOSS,
    "loss without colon": _LOSS,
    "loss in brackets": _LOSS,
    "loss of bert": ("step", "", ""),  # its steps count from the begin of the training, so they name no block
}
_TIMES = {"time": ("ms", "step_ms"), "time of a toolkit": ("ms", "step_ms"), "time alone": ("ms", "")}


class MindSporeFold(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._ranks: dict[int | None, _Blocks] = {}
        self._is_our_own = False
        self._trainings = 0  # that have ended
        self._last_epochs: dict[int, tuple[float, int]] = {}  # of each device, and in which training

    def take(self, found: Found, rank: int | None) -> None:
        self._is_our_own |= "record start" in found
        ends = found["fact end of training"].at if "fact end of training" in found else np.empty(0)
        if "device" in found:
            self._take_devices(found["device"], ends)
        self._trainings += len(ends)
        if "accuracy" in found:
            self.reading.stated["accuracy"] = float(np.mean(found["accuracy"].fields["accuracy"][-8:]))
        if rank not in self._ranks and any(name in found for name in (*_LOSSES, *_TIMES)):
            self._ranks[rank] = _Blocks(self.reading.of_rank(rank), self._ranks, self._is_our_own)
        if rank in self._ranks:
            self._ranks[rank].take(found)

    def finish(self) -> Reading:
        for blocks in self._ranks.values():
            blocks.finish()
            self.reading.faults += blocks.faults
            self.reading.remarks += blocks.remarks
        if len(self._ranks) == 1:
            self.reading.facts["ranks_logged"] = next(iter(self._ranks.values())).ranks
        return self.reading

    def _take_devices(self, table: Table, ends: Array) -> None:
        """A line per device and epoch; `ends` is where trainings ended."""
        training: Array = self._trainings + np.searchsorted(ends, table.at)
        for device, chosen in by_number(table.fields["device"]):
            if device not in self.reading.series and len(self.reading.series) >= MOST_RANKS:
                self.reading.faults[:] = [too_many_ranks()]
                break
            ms, step_ms, epoch = (table.fields[name][chosen] for name in ("ms", "step_ms", "epoch"))
            with np.errstate(all="ignore"):
                steps = np.rint(ms / step_ms)
                step = epoch * steps
            good = (ms > 0) & (steps > 0) & np.isfinite(step)
            loss = _column(table, "loss")[chosen]
            self._look_for_restart(device, epoch, training[chosen])
            self.reading.of_rank(device).add(rows(step, steps, ms / 1000, loss=loss).pick(good))

    def _look_for_restart(self, device: int, epoch: Array, training: Array) -> None:
        last_epoch, last_training = self._last_epochs.get(device, (0.0, 0))
        before = np.append(last_epoch, epoch[:-1])
        again = np.flatnonzero((epoch <= before) & (training == np.append(last_training, training[:-1])))
        self._last_epochs[device] = float(epoch[-1]), int(training[-1])
        if len(again) and not self.reading.faults:
            self.reading.faults.append(_more_than_one_training(before[again[0]], epoch[again[0]]))


class _Blocks:
    """The lines of one rank, or of several that write alike, until enough of them are there to be put together."""

    def __init__(self, series: Series, ranks: Sized, is_our_own: bool) -> None:
        self.faults: list[Fault] = []
        self.remarks: list[str] = []
        self.ranks = 1 if is_our_own else 0
        self._is_our_own = is_our_own
        self._furthest = 0.0  # epoch
        self._series = series
        self._all_ranks = ranks
        self._times: list[Array] = []  # rows of block ms, step ms, epoch, step and loss of the loss line before
        self._last_loss = np.array([np.nan, 0.0, np.nan])
        self._first_losses: list[Array] = []
        self._step = 0.0
        self._contradictions = 0
        self._mixed = False

    def take(self, found: Found) -> None:
        losses, times = _together(found, _LOSSES), _together(found, _TIMES)
        losses[np.isnan(losses[:, 2]), 2] = 0
        if "evaluation" in found:
            times = times[~np.isin(times[:, 0], found["evaluation"].at + len("Eval "))]
        if not self.ranks and len(self._first_losses) < 4:
            self._first_losses.append(losses[: 1 << 13, 1:3])
        known = np.vstack([[-1.0, *self._last_loss], losses])
        before = known[np.searchsorted(known[:, 0], times[:, 0]) - 1]
        self._times.append(np.column_stack([times[:, 1:3], before[:, 1:4]]))
        self._last_loss = known[-1, 1:]
        if sum(map(len, self._times)) >= enough_lines(self._all_ranks):
            self._settle(last=False)

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
            self._add(times[:whole].reshape(-1, self.ranks, 5))

    def _add(self, blocks: Array) -> None:
        """`blocks` by block and rank. Without a loss line between two blocks the number of steps is asked of times."""
        with np.errstate(over="ignore"):
            ms, step_ms = blocks[:, :, 0].mean(1), blocks[:, :, 1].mean(1)
        epoch, logged, loss = blocks[:, 0, 2], blocks[:, :, 3].max(1), blocks[:, 0, 4]
        self._look_for_restart(blocks[:, :, 2].ravel())
        self._mixed = bool((blocks[-1, :, 2] != epoch[-1]).any()) and np.isfinite(epoch[-1])
        steps = _steps(ms, step_ms, logged)
        bad = ~np.isfinite(steps) | (ms <= 0)
        self._contradictions += int(bad.sum())
        ordinal = self._step + np.cumsum(np.where(bad, 0, steps))
        by_epoch = epoch * steps
        named = np.isfinite(by_epoch) & (by_epoch >= ordinal) & (logged == steps)
        step = np.where(named, by_epoch, ordinal)
        step = np.maximum.accumulate(np.where(np.isfinite(step), step, 0))
        self._step = float(step[-1])
        self._series.add(rows(step, steps, ms / 1000, loss=loss).pick(~bad))

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
            self.faults.append(_more_than_one_training(before[again[0]], epochs[again[0]]))


def _more_than_one_training(before: float, after: float) -> Fault:
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
        np.column_stack([found[kind_name].at, *(_column(found[kind_name], name) for name in names)])
        for kind_name, names in kinds.items()
        if kind_name in found
    ]
    if len(parts) == 1:
        return parts[0]
    joined = np.vstack([np.empty((0, 1 + width)), *parts])
    return joined[np.argsort(joined[:, 0], kind="stable")]


def _column(table: Table, name: str) -> Array:
    """nan is what is not there; a loss that is not a number is infinite."""
    if not name:
        return np.full(len(table), np.nan)
    values = table.fields[name]
    return np.where(np.isnan(values), np.inf, values) if name == "loss" else values


DIALECTS = (
    Dialect(
        name="mindspore",
        title="MindSpore (LossMonitor and TimeMonitor)",
        kinds=KINDS,
        fold=MindSporeFold,
        of_all_ranks=False,
        warmup=20,
        last=120,
    ),
)

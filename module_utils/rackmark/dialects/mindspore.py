"""MindSpore's callbacks, in logs of one rank and of many whose lines cannot be told apart.

    epoch: 3 step: 10, loss is 6.910
    Train epoch time: 4812.345 ms, per step time: 481.234 ms
    [Device 2] Epoch 3/60, train time: 4812.345, per step time: 481.234, loss: 6.91

LossMonitor names the block of steps and the loss, TimeMonitor how long the block took. Without labels the blocks of
the ranks are taken in the order in which they come, as many at a time as there are ranks: their mean counts, as
DLPerf's does. Older versions write "epoch time:", vision toolkits "Epoch time:", Atlas scripts name the device.

Epochs that begin anew are those of another training, but for two kinds of log: in Rackmark's own, of one rank each,
and where a line with HPO-<number> has ended the training before, which AIPerf writes.

The lines do not tell the time of day. In Rackmark's own logs a block ends where the one before it ended plus its own
seconds, counted anew from every RACKMARK line.
"""

from __future__ import annotations

import numpy as np

from ..logs.arrays import Array
from ..logs.dialect import Dialect
from ..logs.json_records import first_record
from ..logs.kinds import kind
from ..logs.log_file import MOST_RANKS
from ..logs.matching import Found, Table
from ..logs.own_records import OwnRecords
from ..logs.reading import Fold, Reading
from ..logs.series import Window, rows
from ..logs.step_lines import by_number, too_many_ranks
from .mindspore_blocks import LOSSES, TIMES, Blocks, column, more_than_one_training

_RECORD = "record"

KINDS = (
    kind("loss", "epoch: {epoch:int} step: {step:int}, loss is {loss:float}"),
    kind("loss with comma", "epoch: {epoch:int}, step: {step:int}, loss is {loss:float}"),
    kind("loss without colon", "epoch: {epoch:int} step {step:int}, loss is {loss:float}"),
    kind("loss in brackets", "epoch: {epoch:int} step: {step:int}, loss is [{loss:float}"),
    kind("loss without blanks", "epoch:{epoch:int} step:{step:int}, loss is {loss:float}"),
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
    kind(_RECORD, "RACKMARK {{rest:rest}"),
)


class MindSporeFold(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.reading.steps_untimed = True
        self._ranks: dict[int | None, Blocks] = {}
        self._records = OwnRecords(self.reading)
        self._trainings = 0  # that have ended
        self._last_epochs: dict[int, tuple[float, int]] = {}  # of each device, and in which training

    def take(self, found: Found, rank: int | None) -> None:
        records = self._take_records(found)
        ends = found["fact end of training"].at if "fact end of training" in found else np.empty(0)
        if "device" in found:
            self._take_devices(found["device"], ends)
        self._trainings += len(ends)
        if "accuracy" in found:
            self.reading.stated["accuracy"] = float(np.mean(found["accuracy"].fields["accuracy"][-8:]))
        if rank not in self._ranks and any(name in found for name in (*LOSSES, *TIMES)):
            is_our_own, batch = self.reading.began is not None, self.reading.facts.get("batch")
            self._ranks[rank] = Blocks(self.reading.of_rank(rank), self._ranks, is_our_own, batch)
        if rank in self._ranks:
            self._ranks[rank].take(found, records)

    def _take_records(self, found: Found) -> Array:
        """A row for each that tells the time: where it is, and that time."""
        if _RECORD not in found:
            return np.empty((0, 2))
        table, times = found[_RECORD], []
        for at, row in zip(table.at.tolist(), table.rows()):
            record = first_record(b"{" + row["rest"]) or {}
            self._records.take(record)
            time = self._records.clock.time(record)
            if time is not None and time > 0:
                times.append((at, time))
        self.reading.by_steady_clock = self._records.clock.is_steady
        return np.array(times, float).reshape(-1, 2)

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
            loss = column(table, "loss")[chosen]
            self._look_for_restart(device, epoch, training[chosen])
            self.reading.of_rank(device).add(rows(step, steps, ms / 1000, loss=loss).pick(good))

    def _look_for_restart(self, device: int, epoch: Array, training: Array) -> None:
        last_epoch, last_training = self._last_epochs.get(device, (0.0, 0))
        before = np.append(last_epoch, epoch[:-1])
        again = np.flatnonzero((epoch <= before) & (training == np.append(last_training, training[:-1])))
        self._last_epochs[device] = float(epoch[-1]), int(training[-1])
        if len(again) and not self.reading.faults:
            self.reading.faults.append(more_than_one_training(before[again[0]], epoch[again[0]]))


DIALECTS = (
    Dialect(
        name="mindspore",
        title="MindSpore (LossMonitor and TimeMonitor)",
        kinds=KINDS,
        fold=MindSporeFold,
        of_all_ranks=False,
        warmup=20,
        last=120,
        counts_every_step=True,
    ),
)

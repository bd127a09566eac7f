"""Keras' progress lines, and Horovod's synthetic benchmark.

    Epoch 2/3
    100/600 [====>.........................] - ETA: 3:19 - loss: 10.5 - accuracy: 0.12
    600/600 [==============================] - 239s 398ms/step - loss: 10.4 - accuracy: 0.13 - val_loss: 9.8
    600/600 - 239s - loss: 10.4633 - accuracy: 0.1303
    600/600 ━━━━━━━━━━━━━━━━━━━━ 239s 398ms/step - accuracy: 0.1303 - loss: 10.4633

Only the line of a finished epoch names a time: its seconds, or those of one step where these are finer. It may hold
the evaluation too, which is said. What comes after it without a headline is an evaluation, or the same epoch again;
so may be a line before any headline, unless it has what only trainings have, and a line without a loss is of neither.

    Iter #3: 235.1 img/sec per GPU
    Total img/sec on 8 GPU(s): 1880.3 +-12.1

The benchmark's iterations are some ten batches each, after its own warm-up. Their rate is of one device, and the
devices are as many as the log's head says; what it states at the end is the mean of the rates.
"""

from __future__ import annotations

import re
from typing import Any, Mapping

import numpy as np

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.matching import Found, Table, in_order
from ..logs.reading import STATED, Fault, Fold, Reading
from ..logs.series import Series, Window, rows
from ..logs.step_lines import StepLines
from ..logs.step_timing import Rate, Steps

_WHOLE_SECONDS = re.compile(rb" ?(\d{1,9})s\b")
_TIMES = re.compile(rb"(?:^| )(\d{1,9})(s|ms|us)/(step|sample|epoch)\b")
_VALUE = re.compile(rb"(?:^|[ -])((?:val_)?(?:loss|acc|accuracy)): (\S{1,40})")
_UNITS = {b"s": 1.0, b"ms": 1e-3, b"us": 1e-6}
_ACCURACIES = ("accuracy", "acc")

KINDS = (
    kind("fact epoch", "Epoch {epoch:int}/{epochs:int}"),
    kind("fact samples", "Train on {samples:int} samples"),
    kind("sign running", "] - ETA: "),
    kind("bar", "=] -{rest:rest}", head="{done:int}/{total:int} ["),
    kind("newer bar", "━ {rest:rest}", head="{done:int}/{total:int} ━"),
    kind("line", "s - {rest:rest}", head="{done:int}/{total:int} - {seconds:int}s - "),
)
_LINES = ("bar", "newer bar", "line")
_HEADLINES = ("fact epoch", "fact samples")
_MAY_BE_EVALUATION = (
    "No line of a finished epoch comes after a headline like 'Epoch 1/3' or has a val_loss: they may be evaluations."
)


class KerasFold(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._ranks: dict[int | None, _Epochs] = {}

    def take(self, found: Found, rank: int | None) -> None:
        telling = {name: found[name] for name in _HEADLINES if name in found}
        telling.update((name, _finished(found[name])) for name in _LINES if name in found)
        for name, row in in_order(telling):
            if rank not in self._ranks:
                self._ranks[rank] = _Epochs(self.reading.of_rank(rank))
            self._ranks[rank].take(name, row)
        for epochs in self._ranks.values():
            epochs.settle()

    def finish(self) -> Reading:
        for epochs in self._ranks.values():
            epochs.finish()
            self.reading.stated.update(epochs.stated)
            self.reading.remarks += epochs.remarks
            self.reading.faults += epochs.faults
        if any(epochs.counts_samples for epochs in self._ranks.values()):
            self._look_for_other_processes()
        return self.reading

    def _look_for_other_processes(self) -> None:
        facts = self.reading.facts
        devices = facts.get("world_size") or facts.get("nodes", 1) * facts.get("devices_per_node", 1)
        if devices > 1:
            reason = f"Keras counts the samples of one process here, and nothing says how many there are on {devices}"
            self.reading.faults.append(Fault("no_data", f"{reason} devices."))


def _finished(table: Table) -> Table:
    whole = np.flatnonzero(table.fields["done"] == table.fields["total"])
    fields = {
        name: values[whole] if isinstance(values, np.ndarray) else [values[number] for number in whole.tolist()]
        for name, values in table.fields.items()
    }
    return Table(table.at[whole], fields)


class _Epochs:
    """`_open` while the line of an epoch is awaited; a training of one epoch may have no headline."""

    def __init__(self, series: Series) -> None:
        self.stated: dict[str, float] = {}
        self.remarks: list[str] = []
        self.faults: list[Fault] = []
        self._series = series
        self._open = True
        self._headlines = False
        self._epoch = -1.0
        self._first: tuple[float, float, float] | None = None  # before any headline: training or evaluation
        self._total: float | None = None
        self._done = 0.0
        self._waiting: list[tuple[float, float, float, float, float]] = []
        self._samples = False
        self._evaluated = False

    def take(self, name: str, row: Mapping[str, Any]) -> None:
        if name == "fact epoch":
            self._open = self._headlines = True
            self._first = None
            self._look_for_restart(row["epoch"])
        elif name == "fact samples":
            self._samples = True
        else:
            self._take_line(row)

    @property
    def counts_samples(self) -> bool:
        return self._samples and self._done > 0

    def _look_for_restart(self, epoch: float) -> None:
        if epoch <= self._epoch and not self.faults:
            reason = f"After epoch {self._epoch:.0f} comes epoch {epoch:.0f}: the log holds more than one training"
            self.faults.append(Fault("incomplete", f"{reason}, or the lines of several processes."))
        self._epoch = epoch

    def finish(self) -> None:
        if self._first is not None and (self._evaluated or self._samples):
            self._add(*self._first)
        elif self._first is not None and not self.faults:
            self.faults.append(Fault("no_data", _MAY_BE_EVALUATION))
        self.settle()
        if self.counts_samples:
            self.remarks.append("Keras counts samples here, those of the process whose lines these are.")
        if self._evaluated:
            self.remarks.append("The times of the epochs hold their evaluation: the throughput is of both together.")

    def _take_line(self, row: Mapping[str, Any]) -> None:
        total, values = float(row["total"]), _values(row["rest"])
        seconds = _seconds(row, total)
        if seconds is None or not any(name.endswith("loss") for name in values):
            return
        if self._open:
            self._begin(total, seconds, values)
        prefix = "val_" if total == self._total else ""
        for name in _ACCURACIES:
            if np.isfinite(values.get(prefix + name, np.nan)):
                self.stated["accuracy"] = values[prefix + name]
        if total == self._total and np.isfinite(values.get("loss", np.nan)):
            self.stated["loss"] = values["loss"]

    def _begin(self, total: float, seconds: float, values: Mapping[str, float]) -> None:
        self._open = False
        self._total = total
        self._evaluated |= any(name.startswith("val_") for name in values)
        epoch = total, seconds, values.get("loss", np.nan)
        if self._headlines:
            self._add(*epoch)
        else:
            self._first = epoch

    def _add(self, total: float, seconds: float, loss: float) -> None:
        self._done += total
        self._waiting.append((self._done, total, seconds, total if self._samples else np.nan, loss))

    def settle(self) -> None:
        if self._waiting:
            self._series.add(rows(*np.array(self._waiting).T))
            self._waiting = []


def _seconds(row: Mapping[str, Any], steps: float) -> float | None:
    """How long the steps took, by the finest of the numbers named; None where the line awaits the end."""
    named = _WHOLE_SECONDS.match(row["rest"])
    whole = float(named[1]) if named else row.get("seconds")
    if whole is None:
        return None
    times = [(whole, 1.0)]
    for number, unit, what in _TIMES.findall(row["rest"]):
        times.append((float(number), _UNITS[unit] * (1 if what == b"epoch" else steps)))
    number, unit = max(times)
    return number * unit or None


def _values(rest: bytes) -> Mapping[str, float]:
    """Infinity stands for a loss that is not a number too."""
    values = {}
    for name, text in _VALUE.findall(rest):
        try:
            value = float(text)
        except ValueError:
            continue
        values[name.decode()] = float("inf") if np.isnan(value) else value
    return values


_ITERATIONS = Steps(timing=Rate("rate"), offset=1)


class HorovodFold(StepLines):
    def __init__(self, window: Window) -> None:
        super().__init__(window, _ITERATIONS)
        self._left_out = 0

    def _take_steps(self, table: Table, rank: int | None) -> None:
        devices = self.reading.facts.get("world_size")
        if devices is None:
            self._left_out += len(table)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                rate = table.fields["rate"] * devices
            super()._take_steps(Table(table.at, {**table.fields, "rate": rate}), rank)

    def finish(self) -> Reading:
        stated = self.reading.stated
        if self._left_out:
            self.reading.remarks.append(
                f"{self._left_out} lines are left out: their rate is of one device, and nothing before them says of"
                " how many there are."
            )
        if "_devices" in stated:
            self.note({"world_size": int(stated["_devices"])})
        self.reading.stated = {name: value for name, value in stated.items() if name in STATED}
        return super().finish()


DIALECTS = (
    Dialect(
        name="horovod-benchmark",
        title="Horovod's synthetic benchmark",
        kinds=(
            kind("fact batch", "Batch size: {batch:int}"),
            kind("fact devices", "Number of GPUs: {world_size:int}"),
            kind("fact processors", "Number of CPUs: {world_size:int}"),
            kind("fact model", "Model: {model:word}"),
            kind("step", "Iter #{step:int}: {rate:float} img/sec per "),
            kind("stated", "Total img/sec on {_devices:int} GPU(s): {throughput:float}"),
            kind("stated of processors", "Total img/sec on {_devices:int} CPU(s): {throughput:float}"),
        ),
        steps=_ITERATIONS,
        fold=HorovodFold,
        warmup=0,
    ),
    Dialect(
        name="keras",
        title="Keras",
        kinds=KINDS,
        fold=KerasFold,
        warmup=20,
        layer=-1,
        progress=r"Epoch (\d{1,9})/(\d{1,9})",
    ),
)

"""PaddlePaddle's suites, which print what a batch costs and the samples per second (`ips`), both of one process:

PaddleSeg, PaddleDetection, PaddleClas and PaddleRec
    [TRAIN] epoch: 1, iter: 10/1000, loss: 2.0655, lr: 0.009919, batch_cost: 0.3893, ..., ips: 10.2750 samples/sec | ETA
    ppdet.engine INFO: Epoch: [0] [  50/1876] learning_rate: ... loss: 0.824391 ... batch_cost: 0.2588 ... ips: 61.8343
    [Train][Epoch 1/120][Iter: 10/5004]lr: 0.10000, ..., loss: 6.96, batch_cost: 0.36s, ..., ips: 711.1 samples/s, ...
    epoch: 0, batch_id: 500, ..., avg_batch_cost: 0.56199 sec, avg_samples: 1024.00000, ips: 1822.08655 ins/s

The cost is the mean since the line before, and cost times ips is the batch of a device. A line that makes another batch
than most do covers other steps than it divides by, as the first one of each epoch of PaddleRec does: it is left out.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..logs.dialect import Dialect
from ..logs.kinds import Kind, kind
from ..logs.line_parts import ReworkedSteps, any_step, with_rest_of_line
from ..logs.matching import Found, Table
from ..logs.reading import Reading
from ..logs.series import Window
from ..logs.step_timing import Seconds, Steps

_APART = 0.05
_COST = Seconds("cost", per_step=True)


class _Ips(ReworkedSteps):
    def __init__(self, window: Window, steps: Steps) -> None:
        super().__init__(window, steps, _whole_lines)
        self._batch: float | None = None
        self._left_out = 0
        self._infers = False

    def take(self, found: Found, rank: int | None) -> None:
        """What PaddleRec prints once it infers looks like its training."""
        trained = 0.0 if self._infers else np.inf
        if "inference" in found and not self._infers:
            self._infers, trained = True, float(found["inference"].at[0])
        super().take({name: before for name, table in found.items() if len(before := _before(table, trained))}, rank)

    def _take_steps(self, table: Table, rank: int | None) -> None:
        batch = np.asarray(table.fields.get("ips", np.nan) * table.fields["cost"])
        named = batch[np.isfinite(batch) & (batch > 0)] if batch.ndim else batch[:0]
        if self._batch is None and len(named):
            self._batch = float(np.median(named))
        good = np.abs(batch / (self._batch or np.nan) - 1) < _APART
        self._left_out += int((~good).sum()) if good.ndim else len(table)
        if good.any():
            fields = {name: values[good] for name, values in table.fields.items()}
            super()._take_steps(Table(table.at[good], fields), rank)

    def finish(self) -> Reading:
        if self._batch is not None and 0.5 < self._batch < 1e9:
            self.note({"batch": round(self._batch)})
        if self._left_out:
            self.reading.remarks.append(
                f"{self._left_out} lines are left out: their cost times their ips is not the batch of the others."
            )
        return super().finish()


def _before(table: Table, at: float) -> Table:
    count = int(np.searchsorted(table.at, at))
    return Table(table.at[:count], {name: values[:count] for name, values in table.fields.items()})


def _whole_lines(found: Found) -> Found:
    return with_rest_of_line(any_step(found), needed="cost")


def _dialect(name: str, title: str, lines: tuple[Kind, ...], steps: Steps, progress: str | None = None) -> Dialect:
    costs = (
        kind("rest_cost", "batch_cost: {cost:float}"),
        kind("rest_cost_in_seconds", "batch_cost: {cost:float}s"),
        kind("rest_ips", "ips: {ips:float} "),
        kind("rest_loss", " loss: {loss:float}"),
    )
    fold = partial(_Ips, steps=steps)
    return Dialect(name=name, title=title, kinds=(*lines, *costs), steps=steps, fold=fold, progress=progress)


DIALECTS = (
    _dialect(
        "paddle-seg",
        "PaddleSeg",
        (
            kind("step", "[TRAIN] epoch: {epoch:int}, iter: {step:int}/{total:int}, "),
            kind("step_older", "[TRAIN] epoch={epoch:int}, iter={step:int}/{total:int}, "),
        ),
        Steps(timing=_COST, loss="loss"),
        r"\biter[:=] ?(\d{1,12})/(\d{1,12}), ",
    ),
    _dialect(
        "paddle-detection",
        "PaddleDetection",
        (
            kind("step", "Epoch: [{epoch:int}] [{step:int}/{total:int}] learning_rate: "),
            kind("step_padded", "Epoch: [{epoch:int}] [{_}{step:int}/{total:int}] learning_rate: "),
        ),
        Steps(timing=_COST, offset=1, epoch="epoch", epoch_steps="total", loss="loss"),
    ),
    _dialect(
        "paddle-clas",
        "PaddleClas",
        (kind("step", "[Train][Epoch {epoch:int}/{epochs:int}][Iter: {step:int}/{total:int}]"),),
        Steps(timing=_COST, offset=1, epoch="epoch", loss="loss"),
    ),
    _dialect(
        "paddle-rec",
        "PaddleRec",
        (
            kind("step", "epoch: {epoch:int}, batch_id: {step:int}, "),
            kind("step_static", "Epoch: {epoch:int}, Batch_id: {step:int}, "),
            kind("inference", "infer_batch_size: {size:int}"),
        ),
        Steps(timing=_COST, epoch="epoch"),
    ),
)

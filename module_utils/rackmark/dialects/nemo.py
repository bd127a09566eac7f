"""NeMo 2 and NeMo 1, whose lines name the time of the step that they are about.

    Training epoch 0, iteration 1/249 | lr: 3.922e-06 | global_batch_size: 8 | global_step: 1 |
      reduced_train_loss: 1.653 | train_step_timing in s: 2.505 | consumed_samples: 16
    Epoch 0: :  100%|##| 100/100 [10:48<00:00, reduced_train_loss=0.0172, global_step=99.00, consumed_samples=25600.0,
      train_step_timing in s=3.130]

NeMo 1 repaints its bar, so a step may come twice: the first line counts. What a step holds is what was consumed over
the steps done.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.line_parts import ReworkedSteps, with_rest_of_line
from ..logs.matching import Found, Table
from ..logs.series import Window
from ..logs.step_timing import Seconds, Steps

_STEPS = Steps(timing=Seconds("seconds", of_last_step=True), offset=1, samples="batch", loss="loss")


class _Bar(ReworkedSteps):
    def __init__(self, window: Window) -> None:
        super().__init__(window, _STEPS, partial(with_rest_of_line, needed="seconds"))
        self._last = -1.0

    def _take_steps(self, table: Table, rank: int | None) -> None:
        step = table.fields["step"]
        newer = step > np.maximum.accumulate(np.concatenate(([self._last], step[:-1])))
        if not newer.any():
            return
        fields = {name: values[newer] for name, values in table.fields.items()}
        self._last = float(fields["step"][-1])
        consumed = fields.get("consumed", np.full(len(fields["step"]), np.nan))
        super()._take_steps(Table(table.at[newer], {**fields, "batch": consumed / (fields["step"] + 1)}), rank)


def _line(found: Found) -> Found:
    """Where a line does not count the steps of the whole training, that of the epoch is its number."""
    steps = with_rest_of_line(found, needed="seconds").get("step")
    if steps is None:
        return {name: table for name, table in found.items() if name != "step"}
    fields = dict(steps.fields)
    counted = fields.get("global_step", np.full(len(steps), np.nan))
    fields["step"] = np.where(np.isnan(counted), fields["iteration"], counted)
    fields.setdefault("batch", np.full(len(steps), np.nan))
    return {**found, "step": Table(steps.at, fields)}


DIALECTS = (
    Dialect(
        name="nemo",
        title="NeMo 2",
        kinds=(
            kind("step", "Training epoch {epoch:int}, iteration {iteration:int}/{total:int} | "),
            kind("rest_batch", "global_batch_size: {batch:float}"),
            kind("rest_step", "global_step: {global_step:float}"),
            kind("rest_loss", "reduced_train_loss: {loss:float}"),
            kind("rest_time", "train_step_timing in s: {seconds:float}"),
        ),
        fold=partial(ReworkedSteps, steps=_STEPS, rework=_line),
    ),
    Dialect(
        name="nemo-1",
        title="NeMo 1",
        kinds=(
            kind("step", "global_step={step:float}, consumed_samples={consumed:float}"),
            kind("rest_time", "train_step_timing in s={seconds:float}"),
        ),
        fold=_Bar,
    ),
)

"""DeepSpeed's throughput timer and Megatron-LM's own lines.

DeepSpeed's SamplesPerSec is the average since the begin of the run, warm-up and all, and the newer CurrSamplesPerSec
is that of one step: the average is held against the path. The time the line was written is used, which is what passed
between two of them. DLPerf takes the mean of the averages, so its figure lags behind after a slow begin.
    [2020-12-05 12:00:01,123] [INFO] [timer.py:157:stop] 0/100, SamplesPerSec=198.6134
    [2024-03-07 15:27:02,646] [INFO] [timer.py:260:stop] epoch=0/micro_step=199/global_step=199, Running...

Megatron-LM names the mean time of the iterations since the line before, and the batch, which may grow during a run.
What stands between differs by version, Megatron-Core's too; where both write, Megatron-LM's lines are the ones read.
    using world size: 64, data-parallel size: 8, context-parallel size: 1, tensor-model-parallel size: 4, ...
     iteration      100/     500 | ... | elapsed time per iteration (ms): 296.8 | ... | global batch size:    32 | ...
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.line_parts import LOGGED_AT, ReworkedSteps, with_logged_time, with_rest_of_line
from ..logs.matching import Table
from ..logs.series import Window
from ..logs.step_timing import Clock, Seconds, Steps

# Launchers put the name of the host before the line, so it is found by the begin of its date.
_STOP = "[" + LOGGED_AT.replace("{year:int}", "20{year:int}") + "] [INFO] [timer.py:{source:int}:stop] "

_MEGATRON = Steps(timing=Seconds("ms", scale=1e-3, per_step=True), samples="batch", loss="loss")


class _Megatron(ReworkedSteps):
    """A line that lost its end to a crash had the batch of the line before; older versions do not name it."""

    def __init__(self, window: Window) -> None:
        super().__init__(window, _MEGATRON, partial(with_rest_of_line, needed="ms"))
        self._batch = np.nan

    def _take_steps(self, table: Table, rank: int | None) -> None:
        batch = table.fields.get("batch", np.full(len(table), np.nan))
        missing = np.isnan(batch)
        if not missing.all():
            self._batch = float(batch[~missing][-1])
        fields = {**table.fields, "batch": np.where(missing, self._batch, batch)}
        super()._take_steps(Table(table.at, fields), rank)


DIALECTS = (
    Dialect(
        name="megatron",
        title="Megatron-LM and Megatron-Core",
        kinds=(
            kind("step", "iteration {_}{step:int}/"),
            kind("rest_time", "elapsed time per iteration (ms): {ms:float} |"),
            kind("rest_batch", "global batch size:{_}{batch:int} |"),
            kind("rest_loss", "lm loss: {loss:float} |"),
            kind("fact world", "using world size: {world_size:int}, data-parallel"),
            kind("fact older world", "using world size: {world_size:int} and model-parallel"),
        ),
        fold=_Megatron,
        progress=r"iteration +(\d{1,12})/ *(\d{1,12}) ",
    ),
    Dialect(
        name="deepspeed",
        title="DeepSpeed",
        kinds=(
            kind(
                "step",
                _STOP + "epoch={epoch:int}/micro_step={micro_step:int}/global_step={step:int}, "
                "RunningAvgSamplesPerSec={rate:float}",
            ),
        ),
        fold=partial(ReworkedSteps, steps=Steps(timing=Clock(dated=True), printed="rate"), rework=with_logged_time),
        warmup=100,
        last=200,
        layer=-2,
    ),
    Dialect(
        name="deepspeed-0.3",
        title="DeepSpeed up to 0.6",
        kinds=(kind("step", _STOP + "{epoch:int}/{step:int}, SamplesPerSec={rate:float}"),),
        fold=partial(
            ReworkedSteps, steps=Steps(timing=Clock(dated=True), epoch="epoch", printed="rate"), rework=with_logged_time
        ),
        warmup=100,
        last=200,
        layer=-2,
    ),
)

"""nanoGPT and the speed runs that came of it, modded-nanoGPT.

    tokens per iteration will be: 491,520
    step 2000: train loss 3.1012, val loss 3.1344
    iter 2000: loss 3.1207, time 9123.45ms, mfu 41.20%

nanoGPT names the time of the last iteration, and all devices' tokens of one at the begin. Where it evaluated, the time
holds the evaluation: such an iteration is left out.

    batch_size : int = 8 # batch size, in sequences, across all devices
    step:125/1875 val_loss:4.3012 train_time:18120ms step_avg:157.56ms
    step:126/1875 train_loss:4.2101 train_time:18279ms step_avg:157.57ms

modded-nanoGPT names the time since the begin of the training, without evaluations; it begins anew after ten steps. Its
log holds the script itself, with the batch where that is one number. Versions that give it in tokens leave the batch to
the operator.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.line_parts import ReworkedSteps, any_step
from ..logs.matching import Found, Table
from ..logs.series import Window
from ..logs.step_lines import StepLines
from ..logs.step_timing import Seconds, Stamp, Steps
from ..run.measures import Measure

_ITERATIONS = Steps(timing=Seconds("ms", scale=1e-3, of_last_step=True), samples="tokens", loss="loss")
_MODDED = Steps(timing=Stamp("ms", scale=1e-3), loss="loss")
_VALIDATION_LOSS = Measure("val_loss", "", "lower", "stated.val_loss", means="The last loss on the validation set.")


class _NanoGpt(StepLines):
    def __init__(self, window: Window) -> None:
        super().__init__(window, _ITERATIONS)
        self._tokens = np.nan
        self._evaluated: set[float] = set()

    def take(self, found: Found, rank: int | None) -> None:
        if "tokens" in found:
            self._tokens = float(found["tokens"].fields["tokens"][0])
        if "stated evaluation" in found:
            self._evaluated.update(found["stated evaluation"].fields["at_step"].tolist())
        super().take({name: table for name, table in found.items() if name != "tokens"}, rank)

    def _take_steps(self, table: Table, rank: int | None) -> None:
        trained = ~np.isin(table.fields["step"], list(self._evaluated))
        if trained.any():
            fields = {name: values[trained] for name, values in table.fields.items()}
            tokens = np.full(int(trained.sum()), self._tokens)
            super()._take_steps(Table(table.at[trained], {**fields, "tokens": tokens}), rank)


DIALECTS = (
    Dialect(
        name="nanogpt",
        title="nanoGPT",
        kinds=(
            kind("step", "iter {step:int}: loss {loss:float}, time {ms:float}ms"),
            kind("stated evaluation", "step {at_step:int}: train loss {train_loss:float}, val loss {val_loss:float}"),
            kind("tokens", "tokens per iteration will be: {tokens:grouped}"),
        ),
        fold=_NanoGpt,
        unit="tokens/s",
        measures=(_VALIDATION_LOSS,),
    ),
    Dialect(
        name="modded-nanogpt",
        title="modded-nanoGPT",
        kinds=(
            kind("step", "step:{step:int}/{total:int} train_loss:{loss:float} train_time:{ms:float}ms step_avg:"),
            kind("step_without_loss", "step:{step:int}/{total:int} train_time:{ms:float}ms step_avg:"),
            kind("stated", "step:{at_step:int}/{total:int} val_loss:{val_loss:float} train_time:"),
            kind("fact batch", "batch_size : int = {global_batch:int} # batch size, in sequences, across all devices"),
        ),
        fold=partial(ReworkedSteps, steps=_MODDED, rework=any_step),
        unit="sequences/s",
        measures=(_VALIDATION_LOSS,),
        progress=r"step:(\d{1,12})/(\d{1,12}) ",
    ),
)

"""MaxText: a line for every step, with the tokens per second of one device; the first step compiles.

    completed step: 7, seconds: 6.051, TFLOP/s/device: 451.23, Tokens/s/device: 8123.462, total_weights: 9216, loss: 6.7

The rate is that of the tokens that a batch has room for; `total_weights` are those that were no padding.
"""

from __future__ import annotations

from functools import partial

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.line_parts import ReworkedSteps, with_rest_of_line
from ..logs.step_timing import Rate, Steps

_STEPS = Steps(timing=Rate("rate"), offset=1, loss="loss")

DIALECTS = (
    Dialect(
        name="maxtext",
        title="MaxText",
        kinds=(
            kind("step", "completed step: {step:int}, seconds: {seconds:float}, TFLOP/s/device: "),
            kind("rest_rate", "Tokens/s/device: {rate:float},"),
            kind("rest_loss", "loss: {loss:float}"),
            kind("fact devices", "Num_devices: {world_size:int}, shape "),
        ),
        steps=_STEPS,
        fold=partial(ReworkedSteps, steps=_STEPS, rework=partial(with_rest_of_line, needed="rate")),
        rate_of_one_device=True,
        unit="tokens/s",
        warmup=5,
    ),
)

"""The FSDP and DeepSpeed examples of AWS' distributed training: samples per second of all ranks, of the step that the
line is about.

    2024-05-10 10:00:00 I [train.py:103] Batch 10 Loss: 9.99123, Speed: 5.32 samples/sec, lr: 0.000006

Steps between two lines are taken to be like the one that is named. Evaluations and checkpoints are in none of them.
"""

from __future__ import annotations

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.step_timing import Rate, Steps

DIALECTS = (
    Dialect(
        name="aws-fsdp",
        title="AWS' FSDP examples",
        kinds=(kind("step", "Batch {step:int} Loss: {loss:float}, Speed: {rate:float} samples/sec, lr:"),),
        steps=Steps(timing=Rate("rate"), offset=1, loss="loss"),
    ),
)

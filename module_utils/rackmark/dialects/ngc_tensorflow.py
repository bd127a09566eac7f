"""NVIDIA's TensorFlow examples, ResNet and BERT, as DLLogger prints them.

    DLL 2020-08-16 10:00:01.123456 - (0, 20) imgs_per_sec : 361.2  cross_entropy : 7.9  l2_loss : 1.3  total_loss : 9.3
    DLL 2020-08-26 18:06:39.031755 - Iteration: 20  throughput_train : 112.720 seq/s mlm_loss : 9.1  nsp_loss : 0.7 ...

Both rates are of all devices and count what a step really trained on, where BERT's step may be many batches
(num_accumulation_steps): the times at which the lines were written do not tell that. ResNet's step counts from zero
and its first 20 are not logged. Here a rate stands for the time that its steps took, and all steps of the window are
divided by all their time; ResNet's are held against the times of its lines. DLPerf takes the mean of the rates, or for
BERT the times of the lines 20 and 120.
"""

from __future__ import annotations

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.step_timing import Clock, Rate, Steps

_STAMP = "DLL {year:int}-{month:int}-{day:int} {hour:int}:{minute:int}:{second:float} - "

DIALECTS = (
    Dialect(
        name="ngc-tensorflow",
        title="NVIDIA's TensorFlow ResNet (DLLogger)",
        kinds=(
            kind(
                "step",
                _STAMP + "({epoch:int}, {step:int}) imgs_per_sec : {rate:float}{_}cross_entropy : {cross:float}"
                "{_}l2_loss : {l2:float}{_}total_loss : {loss:float}",
            ),
            kind("fact batch", " batch_size : {batch:int}", head="DLL "),
        ),
        steps=Steps(timing=Rate("rate"), offset=1, loss="loss", written=Clock(dated=True)),
        warmup=20,
        last=120,
    ),
    Dialect(
        name="ngc-tensorflow-bert",
        title="NVIDIA's TensorFlow BERT (DLLogger)",
        kinds=(
            kind(
                "step",
                "throughput_train : {rate:float} seq/s mlm_loss : {mlm:float}{_}nsp_loss : {nsp:float}"
                "{_}total_loss : {loss:float}",
                head=_STAMP + "Iteration: {step:int}",
            ),
            kind("stated throughput", " -  throughput_train : {throughput:float}"),
        ),
        steps=Steps(timing=Rate("rate"), loss="loss"),
        unit="sequences/s",
        warmup=20,
        last=120,
    ),
)

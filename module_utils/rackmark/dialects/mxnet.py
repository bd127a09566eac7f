"""MXNet: six scripts that each print the speed in words of their own. What is used of a line stands in brackets.

gluon-cv with Horovod; one line of rank 0 for all ranks [Speed]:
    INFO:root:Epoch[0] Batch[20]	Speed: 384.19 samples/sec

NVIDIA's ResNet50; a line of every rank [the time it was written: it holds everything a step takes]:
    2020-10-08 12:34:56,123:INFO: Epoch[0] Batch [19-19]	Speed: 391.5302 samples/sec	LR: 0.0512

gluon-nlp's BERT; a line of every rank, and its latency is that of the rank's own batch [latency]:
    INFO:root:[step 120]	mlm_loss=7.41234	...	throughput=4.1K tks/s	lr=0.0001 time=0.21, latency=213.4 ms/batch

gluon-nlp's language models; one process drives all devices [throughput]:
    [Epoch 0 Batch 200/2983] loss 7.76, ppl 2345.60, throughput 1061.00 samples/s

ArcFace, gluon-cv without Horovod, or any script with MXNet's Speedometer; one process drives all devices [Speed]:
    INFO:root:Epoch[0] Batch [20-40]	Speed: 233.88 samples/sec	acc=0.000000	lossvalue=41.974941

PartialFC; rank 0 for all ranks, its "it" are samples [Total]:
    INFO:root:Iter:120 Rank:198.52 it/sec Total:1588.16 it/sec [0][loss]:42.11

DLPerf takes the mean of the rates, this takes samples over time, which is never more. Its BERT script takes the median
of the ranks and multiplies by their number, this adds the ranks up.
"""

from __future__ import annotations

from functools import partial

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.line_parts import LOGGED_AT, EveryRank, ReworkedSteps, any_step, with_logged_time, with_rest_of_line
from ..logs.matching import Found
from ..logs.step_timing import Clock, Rate, Seconds, Steps

_SPEED = "\tSpeed: {rate:float} samples/sec"
_NLP = Steps(timing=Rate("rate"), epoch="epoch", epoch_steps="total", loss="loss")
_SPEEDOMETER = Steps(timing=Rate("rate"), epoch="epoch", loss="loss")


def _speedometer(found: Found) -> Found:
    return with_rest_of_line(any_step(found), needed="rate")


DIALECTS = (
    Dialect(
        name="mxnet-gluon",
        title="MXNet gluon-cv with Horovod",
        kinds=(kind("step", "Epoch[{epoch:int}] Batch[{step:int}]" + _SPEED),),
        steps=Steps(timing=Rate("rate"), epoch="epoch"),
        last=120,
    ),
    Dialect(
        name="mxnet-ngc",
        title="MXNet ResNet50 of NVIDIA",
        kinds=(
            kind(
                "step", ":INFO: Epoch[{epoch:int}] Batch [{first:int}-{step:int}]\tSpeed: ", head=LOGGED_AT + ":INFO:"
            ),
        ),
        fold=partial(
            EveryRank, steps=Steps(timing=Clock(dated=True), offset=1, epoch="epoch"), rework=with_logged_time
        ),
        of_all_ranks=False,
        last=120,
    ),
    Dialect(
        name="mxnet-bert",
        title="MXNet BERT of gluon-nlp",
        kinds=(
            kind("step", "[step {step:int}]\tmlm_loss="),
            kind("rest_loss", "mlm_loss={loss:float}"),
            kind("rest_padded_loss", "mlm_loss={_}{loss:float}"),
            kind("rest_latency", "latency={ms:float} ms/batch"),
        ),
        fold=partial(
            EveryRank,
            steps=Steps(timing=Seconds("ms", scale=1e-3, per_step=True), loss="loss"),
            rework=partial(with_rest_of_line, needed="ms"),
        ),
        of_all_ranks=False,
        warmup=100,
        last=200,
    ),
    Dialect(
        name="mxnet-speedometer",
        title="MXNet Speedometer (ArcFace)",
        kinds=(
            kind("step", "INFO:root:Epoch[{epoch:int}] Batch [{first:int}-{step:int}]" + _SPEED),
            kind("step_1.4", "INFO:root:Epoch[{epoch:int}] Batch [{step:int}]" + _SPEED),
            kind("step_of_gluon_cv", "Epoch[{epoch:int}] Batch [{step:int}]" + _SPEED, head="Epoch["),
            kind("step_without_metric", "INFO:root:Iter[{epoch:int}] Batch [{first:int}-{step:int}]" + _SPEED),
            kind("step_without_metric_1.4", "INFO:root:Iter[{epoch:int}] Batch [{step:int}]" + _SPEED),
            kind("rest_loss", "\tlossvalue={loss:float}"),
            kind("fact_batch", " batch_size={batch:int}, ", head="Namespace("),
            kind("fact_logged_batch", " batch_size={batch:int}, ", head="INFO:root:Namespace("),
            kind("fact_devices", " num_gpus={world_size:int}, ", head="Namespace("),
            kind("fact_logged_devices", " num_gpus={world_size:int}, ", head="INFO:root:Namespace("),
        ),
        steps=_SPEEDOMETER,
        fold=partial(ReworkedSteps, steps=_SPEEDOMETER, rework=_speedometer),
        last=120,
    ),
    Dialect(
        name="gluon-nlp",
        title="MXNet gluon-nlp's language models",
        kinds=(
            kind(
                "step",
                "[Epoch {epoch:int} Batch {step:int}/{total:int}] loss {loss:float}, ppl {ppl:float}, throughput"
                " {rate:float} samples/s",
            ),
            kind(
                "step_of_cache",
                "[Epoch {epoch:int} Batch {step:int}/{total:int}] current loss {loss:float}, ppl {ppl:float},"
                " throughput {rate:float} samples/s",
            ),
        ),
        steps=_NLP,
        fold=partial(ReworkedSteps, steps=_NLP, rework=any_step),
    ),
    Dialect(
        name="mxnet-partial-fc",
        title="MXNet PartialFC",
        kinds=(
            kind(
                "step",
                "Iter:{step:int} Rank:{rank_rate:float} it/sec Total:{rate:float} it/sec"
                " [{epoch:int}][loss]:{loss:float}",
            ),
        ),
        steps=Steps(timing=Rate("rate"), loss="loss"),
    ),
)

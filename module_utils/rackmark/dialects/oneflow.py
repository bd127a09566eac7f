"""OneFlow's benchmarks. Every line is of the whole job, and what is used of it stands in brackets.

ResNet50 and BERT; the seconds since 1970 at the end, as DLPerf does [time]:
    train: epoch 0, iter 120, loss: 1.050499, top_1: 1.000000, top_k: 1.000000, samples/s: 5917.583 1597933977.6064055
    step: 119, total_loss: 8.010, mlm_loss: 7.331, nsp_loss: 0.679, throughput: 139.896 1598056537.0029895

BERT without a time, and InsightFace. DLPerf takes the mean of the rates, this takes samples over time [throughput]:
    train: iter 125, loss 35.41, throughput: 1927.403

Wide and Deep. DLPerf gives the milliseconds of an iteration, by which the batch has to be divided [time, latency]:
    1100 time 1602836869.3806155 loss 0.4920539349317551
    [rank:0] iter: 200/1200, loss: 0.0780148208141327, latency(ms): 2.2327776625752449 | 2021-12-01 13:19:02.848

GPT; latency is the mean of a step in seconds, and times throughput the samples of a step [latency]. DLPerf adds up
the rates of both ends of its window and divides by one less.
    | 120      | 3840            | 61440           | 39.00969   | 13.12494   | 6.82232    |

Settings stand before: `batch_size_per_device = 128`, or with dots `  num_nodes ......... 4`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Mapping

import numpy as np

from ..logs.dialect import Dialect
from ..logs.kinds import Kind, kind
from ..logs.line_parts import Rework, ReworkedSteps, setting
from ..logs.matching import Found, Table
from ..logs.reading import Reading
from ..logs.series import Window
from ..logs.step_timing import Rate, Seconds, Stamp, Steps


class _OneFlow(ReworkedSteps):
    def __init__(self, window: Window, steps: Steps, rework: Rework = lambda found: found) -> None:
        super().__init__(window, steps, rework)
        self._evaluations = 0

    def take(self, found: Found, rank: int | None) -> None:
        if "evaluation" in found:
            self._evaluations += len(found["evaluation"])
        super().take(found, rank)

    def note(self, facts: Mapping[str, Any]) -> None:
        if "half" in facts:
            facts = {"precision": "fp16" if facts["half"] == "True" else "fp32"}
        super().note(facts)

    def finish(self) -> Reading:
        if self._evaluations:
            self.reading.remarks.append(
                f"Evaluations between the lines: {self._evaluations}; an interval that holds one is longer by it."
            )
        return super().finish()


def _argument(name: str, fact: str) -> Kind:
    return kind(f"fact_{name}", f"{name} {'.' * (48 - len(name))} {{{fact}}}")


def _with_samples(found: Found) -> Found:
    steps = found.get("step")
    if steps is None:
        return found
    with np.errstate(over="ignore", invalid="ignore"):
        samples = np.round(steps.fields["rate"] * steps.fields["latency"])
    return {**found, "step": Table(steps.at, {**steps.fields, "samples": samples})}


_JOB = (setting("gpu_num_per_node", "devices_per_node:int"), setting("num_nodes", "nodes:int"))
_SETTINGS = (
    *_JOB,
    setting("batch_size_per_device", "batch:int"),
    setting("model", "model:word"),
    setting("use_fp16", "half:word"),
)
_WDL_SETTINGS = (*_JOB, setting("batch_size", "global_batch:int"))
_BERT = (
    "step: {step:int}, total_loss: {loss:float}, mlm_loss: {mlm_loss:float}, nsp_loss: {nsp_loss:float},"
    " throughput: {rate:float}"
)
_RATE = Steps(timing=Rate("rate"), offset=1, loss="loss")

DIALECTS = (
    Dialect(
        name="oneflow-cnn",
        title="OneFlow image classification",
        kinds=(
            kind(
                "step",
                "train: epoch {epoch:int}, iter {step:int}, loss: {loss:float}, top_1: {top_1:float},"
                " top_k: {top_k:float}, samples/s: {rate:float} {stamp:float}",
            ),
            kind("evaluation", "validation: epoch {epoch:int}, iter {step:int}, "),
            *_SETTINGS,
        ),
        fold=partial(_OneFlow, steps=Steps(timing=Stamp("stamp"), epoch="epoch", loss="loss", printed="rate")),
        last=120,
    ),
    Dialect(
        name="oneflow-bert",
        title="OneFlow BERT pretraining",
        kinds=(kind("step", _BERT + " {stamp:float}"), *_SETTINGS),
        fold=partial(_OneFlow, steps=Steps(timing=Stamp("stamp"), offset=1, loss="loss", printed="rate")),
        last=120,
    ),
    Dialect(
        name="oneflow-bert-rate",
        title="OneFlow BERT pretraining without the time",
        kinds=(kind("step", _BERT), *_SETTINGS),
        steps=_RATE,
        fold=partial(_OneFlow, steps=_RATE),
        last=120,
    ),
    Dialect(
        name="oneflow-insightface",
        title="OneFlow InsightFace",
        kinds=(kind("step", "train: iter {step:int}, loss {loss:float}, throughput: {rate:float}"),),
        steps=_RATE,
        fold=partial(_OneFlow, steps=_RATE),
        warmup=25,
        last=126,
    ),
    Dialect(
        name="oneflow-wdl",
        title="OneFlow Wide and Deep",
        kinds=(
            kind("step", " time {stamp:float} loss {loss:float}", head="{step:int} time "),
            kind("evaluation", " eval_loss {loss:float} eval_auc ", head="{step:int} eval_loss "),
            *_WDL_SETTINGS,
        ),
        fold=partial(_OneFlow, steps=Steps(timing=Stamp("stamp"), loss="loss")),
        warmup=100,
        last=1100,
    ),
    Dialect(
        name="oneflow-wdl-models",
        title="OneFlow Wide and Deep (models)",
        kinds=(
            kind(
                "step",
                "[rank:{rank:int}] iter: {step:int}/{last:int}, loss: {loss:float}, latency(ms): {ms:float} |",
            ),
            setting("batch_size", "global_batch:int"),
        ),
        fold=partial(_OneFlow, steps=Steps(timing=Seconds("ms", scale=1e-3, per_step=True), loss="loss")),
        warmup=100,
        last=1100,
        progress=r"iter: (\d{1,12})/(\d{1,12}),",
    ),
    Dialect(
        name="oneflow-gpt",
        title="OneFlow GPT",
        kinds=(
            kind(
                "step",
                "|\n",
                head="| {step:int}{_}| {micro_batches:int}{_}| {all_samples:int}{_}| {rate:float}{_}"
                "| {latency:float}{_}| {loss:float}{_}|",
            ),
            _argument("num_nodes", "nodes:int"),
            _argument("num_gpus_per_node", "devices_per_node:int"),
            _argument("fp16", "half:word"),
        ),
        fold=partial(
            _OneFlow,
            steps=Steps(timing=Seconds("latency", per_step=True), samples="samples", loss="loss"),
            rework=_with_samples,
        ),
        warmup=300,
        last=400,
    ),
)

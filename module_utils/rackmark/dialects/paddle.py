"""PaddlePaddle's own ResNet50 and BERT (models 1.8).

ResNet50 names the time of day and how long the last batch took. The time of day is used where it is there: it holds
all batches, and to the millisecond, while `elapse` has two to four decimals of a second. DLPerf publishes the mean of
batch / elapse, this takes samples over time.
    2020-09-03 11:14:45,123-INFO: [Pass 0, train batch 19] 	loss 7.02345, ..., lr 0.10000, elapse 0.3612 sec

BERT prints the steps of all trainers (one per node) added up: two nodes that do one step a second each together print
2 steps/s, and each of these steps is the batch of one node. So a log has to say how many trainers there were.
    args.is_distributed: True
    worker_endpoints:['10.0.0.1:6170', '10.0.0.2:6170'] trainers_num:2 current_endpoint:10.0.0.1:6170
    epoch: 0, progress: 1/1, step: 20, loss: 9.214511, ppl: 9045.1, next_sent_acc: 0.53125, speed: 2.785 steps/s, ...
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.line_parts import LOGGED_AT, ReworkedSteps, with_logged_time
from ..logs.matching import Found, Table
from ..logs.reading import Fault, Reading
from ..logs.series import Window
from ..logs.step_lines import StepLines
from ..logs.step_timing import Clock, Seconds, Steps


class _Bert(StepLines):
    def __init__(self, window: Window) -> None:
        super().__init__(window, Steps(timing=Seconds("seconds", per_step=True), loss="loss"))
        self._trainers: int | None = None

    def take(self, found: Found, rank: int | None) -> None:
        if "alone" in found:
            self._trainers = self._trainers or 1
        if "trainers" in found:
            self._trainers = int(found["trainers"].fields["trainers"][0]) or None
        steps = found.get("step")
        if steps is not None:
            with np.errstate(divide="ignore"):
                seconds = (self._trainers or 1) / steps.fields["speed"]
            found = {**found, "step": Table(steps.at, {**steps.fields, "seconds": seconds})}
        super().take(found, rank)

    def finish(self) -> Reading:
        if self._trainers is None:
            reason = "The log does not say how many trainers there were, and its steps/s are those of all of them."
            self.reading.faults.append(Fault("incomplete", reason))
        else:
            self.note({"nodes": self._trainers})
        return super().finish()


DIALECTS = (
    Dialect(
        name="paddle-resnet",
        title="PaddlePaddle image classification",
        kinds=(
            kind(
                "step",
                "[Pass {pass:int}, train batch {step:int}]{_}loss {loss:float}, ",
                head=LOGGED_AT + "-INFO: ",
            ),
        ),
        fold=partial(
            ReworkedSteps,
            steps=Steps(timing=Clock(dated=True), offset=1, epoch="pass", loss="loss"),
            rework=with_logged_time,
        ),
        last=120,
    ),
    Dialect(
        name="paddle-resnet-elapse",
        title="PaddlePaddle image classification without the time of day",
        kinds=(
            kind(
                "step",
                "[Pass {pass:int}, train batch {step:int}]{_}loss {loss:float}, acc1 {acc1:float}, acc5 {acc5:float},"
                " lr {lr:float}, elapse {seconds:float} sec",
            ),
        ),
        steps=Steps(timing=Seconds("seconds", of_last_step=True), offset=1, epoch="pass", loss="loss"),
        last=120,
    ),
    Dialect(
        name="paddle-bert",
        title="PaddlePaddle BERT pretraining",
        kinds=(
            kind(
                "step",
                "epoch: {epoch:int}, progress: {file:int}/{files:int}, step: {step:int}, loss: {loss:float},"
                " ppl: {ppl:float}, next_sent_acc: {accuracy:float}, speed: {speed:float} steps/s",
            ),
            kind("alone", "args.is_distributed: False"),
            kind("trainers", " trainers_num:{trainers:int} current_endpoint:"),
            kind("fact_devices", "Device count {devices_per_node:int}", head="Device count "),
        ),
        fold=_Bert,
        last=120,
    ),
)

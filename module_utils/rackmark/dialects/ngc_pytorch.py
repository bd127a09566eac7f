"""NVIDIA's PyTorch examples, ResNet and BERT, as DLLogger prints them and as it writes them to a file.

    DLL 2020-09-15 14:29:13.473765 - Epoch: 0 Iteration: 1  train.loss : 7.09304  train.total_ips : 267.44 img/s
    DLL 2020-09-24 02:12:08.999291 - Training Epoch: 0 Training Iteration: 20  average_loss : 9.1  step_loss : 9.0  ...
    DLLL {"timestamp": "...", "datetime": "2020-09-15 14:29:13.473765", ..., "step": [0, 1], "data": {"train.loss": ...

The times at which the lines were written count, as they do for DLPerf. ResNet's own rate is a mean of rates where a
line covers several steps, and that of its summary holds the first steps too. ResNet counts its steps anew in each
epoch; what lies between two epochs, such as evaluation and checkpoint, is no training and left out. BERT counts on,
and one of its steps may be several batches (gradient_accumulation_steps).
"""

from __future__ import annotations

import numpy as np

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.matching import Found, Table
from ..logs.reading import FACTS, STATED, Fault, Reading
from ..logs.series import Window
from ..logs.step_lines import StepLines
from ..logs.step_timing import Clock, Steps

_TIME = "{year:int}-{month:int}-{day:int} {hour:int}:{minute:int}:{second:float}"
_STAMP = f"DLL {_TIME} - "
_FILE_STAMP = 'DLLL {"timestamp": "{whole:int}.{fraction:int}", "datetime": "' + _TIME
_FILE_STEP = '"type": "LOG", "step": [{epoch:int}, {step:int}], "data": {'
_OF_THE_FILE = " of the file"

_STEPS = Steps(timing=Clock(dated=True), loss="loss")


class LoggerFold(StepLines):
    """Lines of the file mean what the printed ones do."""

    def __init__(self, window: Window) -> None:
        super().__init__(window, _STEPS)

    def take(self, found: Found, rank: int | None) -> None:
        super().take({name.replace(_OF_THE_FILE, ""): table for name, table in found.items()}, rank)

    def finish(self) -> Reading:
        facts, stated = self.reading.facts, self.reading.stated
        if "model" in facts:
            facts["model"] = str(facts["model"]).strip('"')
        if "batch" in facts:
            facts["batch"] *= facts.get("accumulation", 1)
        if "top1" in stated:
            stated["accuracy"] = stated["top1"] / 100
        self.reading.facts = {name: value for name, value in facts.items() if name in FACTS}
        self.reading.stated = {name: value for name, value in stated.items() if name in STATED}
        return super().finish()


class ResNetFold(LoggerFold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._epochs: dict[int | None, float] = {}
        self._last_steps: dict[int | None, float] = {}
        self._done: dict[int | None, float] = {}

    def _take_steps(self, table: Table, rank: int | None) -> None:
        epochs = table.fields["epoch"]
        for lines in np.split(np.arange(len(table)), np.flatnonzero(np.diff(epochs)) + 1):
            fields = {name: values[lines] for name, values in table.fields.items()}
            if fields["epoch"][0] != self._epochs.get(rank):
                self._begin_epoch(float(fields["epoch"][0]), rank)
            self._last_steps[rank] = float(fields["step"][-1])
            fields["step"] = fields["step"] + self._done[rank]
            self._of(rank).take(fields)

    def _begin_epoch(self, epoch: float, rank: int | None) -> None:
        """The steps of an epoch begin anew, and what was before its first line is no part of it."""
        before = self._epochs.get(rank, epoch)
        if epoch < before:
            reason = f"After epoch {before:.0f} comes epoch {epoch:.0f}: the log holds more than one training."
            self.reading.faults.append(Fault("incomplete", reason))
        self._epochs[rank] = epoch
        self._done[rank] = self._done.get(rank, 0.0) + self._last_steps.get(rank, 0.0)
        finished = self._ranks.pop(rank, None)
        if finished is not None:
            finished.settle()
            self.reading.remarks += finished.remarks
            self.reading.faults += finished.faults


_SUMMARY = "Summary: train.loss : {_loss:float}{_}"
_FILE_SUMMARY = '"step": [], "data": {"train.loss": {_loss:float}, '
_COMPUTE = "train.compute_ips : {_ips:float}"
_FILE_COMPUTE = '"train.compute_ips": {_ips:float}, '

_RESNET = (
    kind("step", _STAMP + "Epoch: {epoch:int} Iteration: {step:int}{_}train.loss : {loss:float}"),
    kind("step of the file", _FILE_STEP + '"train.loss": {loss:float}', head=_FILE_STAMP),
    kind("fact batch", " batch_size : {batch:int}", head=_STAMP + "PARAMETER"),
    kind("fact batch of the file", '"batch_size": {batch:int}', head=_FILE_STAMP),
    kind("fact world", " world_size : {world_size:int}", head=_STAMP + "PARAMETER"),
    kind("fact world of the file", '"world_size": {world_size:int}', head=_FILE_STAMP),
    kind("fact model", " arch : {model:word}", head=_STAMP + "PARAMETER"),
    kind("fact model of the file", '"arch": "{model:word}', head=_FILE_STAMP),
    kind("stated", _SUMMARY + "train.total_ips : {throughput:float}"),
    kind("stated later", _SUMMARY + _COMPUTE + " img/s train.total_ips : {throughput:float}"),
    kind("stated latest", _SUMMARY + _COMPUTE + " images/s train.total_ips : {throughput:float}"),
    kind("stated of the file", _FILE_SUMMARY + '"train.total_ips": {throughput:float}'),
    kind("stated later of the file", _FILE_SUMMARY + _FILE_COMPUTE + '"train.total_ips": {throughput:float}'),
    kind("stated accuracy", "val.top1 : {top1:float}", head=_STAMP + "Epoch: {_epoch:int}{_}train.loss"),
    kind("stated accuracy of the file", ', "val.top1": {top1:float}', head=_FILE_STAMP),
)
_BERT = (
    kind(
        "step",
        "step_loss : {loss:float}",
        head=_STAMP + "Training Epoch: {epoch:int} Training Iteration: {step:int}",
    ),
    kind("step of the file", _FILE_STEP + '"average_loss": {average:float}, "step_loss": {loss:float}', _FILE_STAMP),
    kind("fact batch", "batch_size_per_gpu : {batch:int}", head=_STAMP + "PARAMETER"),
    kind("fact batch of the file", '"batch_size_per_gpu": {batch:int}', head=_FILE_STAMP),
    kind("fact accumulation", "gradient_accumulation_steps={accumulation:int}"),
    kind("stated", "training_sequences_per_second : {throughput:float}"),
    kind("stated of the file", '"training_sequences_per_second": {throughput:float}'),
    kind("stated time", "e2e_train_time : {e2e_s:float}"),
    kind("stated time of the file", '"e2e_train_time": {e2e_s:float}'),
    kind("stated loss", "final_loss : {loss:float}"),
    kind("stated loss of the file", '"final_loss": {loss:float}'),
)

DIALECTS = (
    Dialect(
        name="ngc-pytorch",
        title="NVIDIA's PyTorch ResNet (DLLogger)",
        kinds=_RESNET,
        fold=ResNetFold,
        warmup=20,
        last=120,
    ),
    Dialect(
        name="ngc-pytorch-bert",
        title="NVIDIA's PyTorch BERT (DLLogger)",
        kinds=_BERT,
        fold=LoggerFold,
        unit="sequences/s",
        warmup=20,
        last=110,
    ),
)

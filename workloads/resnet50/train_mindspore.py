"""Trains ResNet-50 with MindSpore, whose own lines say how long steps took; RACKMARK lines around them say the rest.

One process is one rank on one device. RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT say which;
without them it is the only rank.
"""

from __future__ import annotations

import math
import os
import time

os.environ.setdefault("GLOG_v", "3")  # read as MindSpore is loaded: its warnings are many and say little

import batches_mindspore as batches
import devices_mindspore as devices
import flags as command_line
import mindspore
import outcome
import rackmark_log
import ranks as environment
from checkpoints_mindspore import MindSporeCheckpoint
from flags import Flags
from interludes import Interludes
from mindspore.train import Callback, LossMonitor, Model, RunContext, TimeMonitor
from model_mindspore import parameter_count
from outcome import TrainingError
from ranks import Ranks
from trainer_mindspore import Trainer

PROGRAM = "train_mindspore.py"
LARGEST_BLOCK = 10  # steps for which there is one pair of MindSpore's lines


class Training(Callback, Interludes):
    def __init__(self, flags: Flags, ranks: Ranks, device: str) -> None:
        super().__init__()
        self.flags, self.ranks, self.device = flags, ranks, device
        self.batches = (batches.FolderBatches if flags.data else batches.SyntheticBatches)(flags, ranks)
        self.trainer = Trainer(flags, ranks, self.batches.classes)
        self.folder = self.batches if isinstance(self.batches, batches.FolderBatches) else None
        self.data = str(self.batches)
        self.checkpoint = MindSporeCheckpoint(flags.checkpoint, "resnet50.ckpt") if flags.checkpoint else None
        self.evaluated = []
        self.done_before = self.take_up()
        self.block = 1 if device == "cpu" else block_size(flags, self.done_before)
        self.loss_line, self.time_line = LossLine(), TimeLine()

    def run(self) -> None:
        feed = batches.Feed(self.batches.training(self.done_before + 1), self.block)
        self._start_record()
        self.sum_over_ranks(0)
        rackmark_log.ready()
        Model(self.trainer.step).train(
            self.flags.total_steps // self.block,
            feed,
            callbacks=[self.loss_line, self.time_line, self],
            initial_epoch=self.done_before // self.block,
        )
        rackmark_log.end(self.flags.total_steps)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        step = run_context.original_args().cur_epoch_num * self.block
        loss = self.loss_line.loss
        if not math.isfinite(loss):
            raise TrainingError(f"the loss of step {step} is {loss}: training cannot go on from there")
        if self.flags.checkpoints_after(step) or self.flags.evaluates_after(step):
            self.pause(step)
            self.time_line.resume()

    def sum_over_ranks(self, number: int) -> int:
        (shared,) = devices.total([number], self.ranks)
        return int(shared)

    def _start_record(self) -> None:
        self.start_record(
            device=self.device,
            device_name=devices.device_name(self.device),
            threads=devices.threads(),
            framework="mindspore",
            framework_version=mindspore.__version__,
            parameters=parameter_count(self.trainer.network),
        )


class LossLine(LossMonitor):
    """LossMonitor at the end of a block, which lets a loss that is no number through to the log."""

    loss = 0.0

    def on_train_step_end(self, run_context: RunContext) -> None:
        state = run_context.original_args()
        if state.cur_step_num % state.batch_num:
            return
        self.loss = float(state.net_outputs.asnumpy())
        if math.isfinite(self.loss):
            super().on_train_step_end(run_context)
        else:
            print(f"epoch: {state.cur_epoch_num} step: {state.batch_num}, loss is {self.loss}", flush=True)


class TimeLine(TimeMonitor):
    """TimeMonitor whose blocks begin where the ones before them ended, so that no time between them is lost, and whose
    clock nobody sets."""

    def __init__(self) -> None:
        super().__init__()
        self._began: float | None = None

    def resume(self) -> None:
        self._began = time.perf_counter()

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        if self._began is None:
            super().on_train_epoch_begin(run_context)
            self.resume()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        ended = time.perf_counter()
        if self._began is not None:
            self.epoch_time = time.time() - (ended - self._began)  # TimeMonitor asks the wall clock
        super().on_train_epoch_end(run_context)
        self._began = ended


def block_size(flags: Flags, done_before: int) -> int:
    """Warm-up, evaluations and checkpoints end with a block."""
    together = math.gcd(flags.warmup, flags.steps, flags.evaluate_every, flags.checkpoint_every, done_before)
    return next(size for size in range(LARGEST_BLOCK, 0, -1) if together % size == 0)


def main(arguments: list[str]) -> None:
    flags = command_line.parse(PROGRAM, __doc__, arguments)
    ranks = environment.from_environment()
    device = devices.choose(flags, ranks)
    devices.prepare(device, flags.deterministic)
    if not ranks.alone:
        devices.join(ranks, device)
    try:
        Training(flags, ranks, device).run()
        devices.leave(ranks)
    except RuntimeError as error:
        sentence = devices.explain(error)
        if sentence is None:
            raise
        raise TrainingError(f"rank {ranks.rank} of {ranks.world_size} cannot go on: {sentence}") from error


if __name__ == "__main__":
    outcome.run(PROGRAM, main)

"""Trains ResNet-50 with MindSpore, whose own lines say how long steps took; RACKMARK lines around them say the rest.

One process is one rank on one device. RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT say which;
without them it is the only rank.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

os.environ.setdefault("GLOG_v", "3")  # read as MindSpore is loaded: its warnings are many and say little

import batches_mindspore as batches
import checkpoints_mindspore as checkpoints
import devices_mindspore as devices
import flags as command_line
import mindspore
import outcome
import rackmark_log
import ranks as environment
from flags import Flags
from mindspore.train import Callback, LossMonitor, Model, RunContext, TimeMonitor
from model_mindspore import parameter_count
from outcome import TrainingError, UsageError
from ranks import Ranks
from trainer_mindspore import Trainer

PROGRAM = "train_mindspore.py"
LARGEST_BLOCK = 10  # steps for which there is one pair of MindSpore's lines


class Training(Callback):
    def __init__(self, flags: Flags, ranks: Ranks, device: str) -> None:
        super().__init__()
        self.flags, self.ranks, self.device = flags, ranks, device
        self.batches = (batches.FolderBatches if flags.data else batches.SyntheticBatches)(flags, ranks)
        self.trainer = Trainer(flags, ranks, self.batches.classes)
        self.done_before = self._take_up(flags.checkpoint) if flags.checkpoint else 0
        self.block = 1 if device == "cpu" else block_size(flags, self.done_before)
        self.loss_line, self.time_line = LossLine(), TimeLine()

    def run(self) -> None:
        feed = batches.Feed(self.batches.training(self.done_before + 1), self.block)
        self._start_record()
        devices.total([0], self.ranks)
        Model(self.trainer.step).train(
            self.flags.total_steps // self.block,
            feed,
            callbacks=[self.loss_line, self.time_line, self],
            initial_epoch=self.done_before // self.block,
        )
        rackmark_log.end(self.flags)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        step = run_context.original_args().cur_epoch_num * self.block
        loss = self.loss_line.loss
        if not math.isfinite(loss):
            raise TrainingError(f"the loss of step {step} is {loss}: training cannot go on from there")
        if self.flags.checkpoints_after(step) or self.flags.evaluates_after(step):
            self._checkpoint(step)
            self._evaluate(step)
            self.time_line.resume()

    def _evaluate(self, step: int) -> None:
        if not isinstance(self.batches, batches.FolderBatches) or not self.flags.evaluates_after(step):
            return
        began = time.perf_counter()
        images, accuracy, loss = self.trainer.evaluate(self.batches.validation())
        planned = len(self.batches.tree.validation)
        if images != planned:
            raise TrainingError(
                f"the evaluation after step {step} saw {images} of {planned} images: ranks differ in val/"
            )
        rackmark_log.evaluation(step, time.perf_counter() - began, images, accuracy, loss)

    def _checkpoint(self, step: int) -> None:
        if self.flags.checkpoint is None or not self.flags.checkpoints_after(step):
            return
        began = time.perf_counter()
        state = self.trainer.state()
        if self.ranks.rank == 0:
            checkpoints.write(self.flags.checkpoint, step, self._settings(), state)
        devices.total([0], self.ranks)
        rackmark_log.checkpoint(step, time.perf_counter() - began)

    def _take_up(self, folder: Path) -> int:
        """How many steps the checkpoint to go on from holds, as the first rank finds it; 0 without one."""
        first = self.ranks.rank == 0
        if first:
            checkpoints.prepare(folder)
        if not self._of_first_rank(int(first and checkpoints.exists(folder))):
            return 0
        if not self.flags.resume:
            raise UsageError(f"{folder} holds a checkpoint: add --resume to go on from it, or name another folder")
        step, state = checkpoints.read(folder, self._settings())
        if step != self._of_first_rank(step):
            raise TrainingError(f"{folder} is not the same on all nodes: rank {self.ranks.rank} finds step {step}")
        if step >= self.flags.total_steps:
            raise UsageError(f"the checkpoint in {folder} is of step {step}: --warmup and --steps ask for no more")
        self.trainer.restore(state)
        return step

    def _of_first_rank(self, number: int) -> int:
        (shared,) = devices.total([number if self.ranks.rank == 0 else 0], self.ranks)
        return int(shared)

    def _start_record(self) -> None:
        rackmark_log.start(
            self.flags,
            self.ranks,
            device=self.device,
            device_name=devices.device_name(self.device),
            threads=devices.threads(),
            framework="mindspore",
            framework_version=mindspore.__version__,
            parameters=parameter_count(self.trainer.network),
            data=str(self.batches),
            resumed_from=self.done_before if self.flags.resume else None,
        )

    def _settings(self) -> dict[str, object]:
        """What a checkpoint must share with the training that goes on from it."""
        flags = self.flags
        return {
            "--batch": flags.batch,
            "--precision": flags.precision,
            "--image-size": flags.image_size,
            "--seed": flags.seed,
            "world size": self.ranks.world_size,
            "data": str(self.batches),
        }


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
    """TimeMonitor whose blocks begin where the ones before them ended, so that no time between them is lost."""

    def __init__(self) -> None:
        super().__init__()
        self._running = False

    def resume(self) -> None:
        self.epoch_time = time.time()

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        if not self._running:
            super().on_train_epoch_begin(run_context)
            self._running = True

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        ended = time.time()
        super().on_train_epoch_end(run_context)
        self.epoch_time = ended


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

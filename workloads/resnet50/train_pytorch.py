"""Trains ResNet-50, or MobileNetV2, with PyTorch and prints one RACKMARK line per step.

One process is one rank on one device. RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT say which;
without them it is the only rank. Runs on PyTorch 1.13 and newer.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Iterator

import devices
import flags as command_line
import outcome
import rackmark_log
import ranks as environment
import torch
from checkpoints import TorchCheckpoint
from flags import Flags
from interludes import Interludes
from model import parameter_count
from outcome import TrainingError
from perf_log import Stopwatch
from ranks import Ranks
from trainer import NETWORKS, Batch, Loss, Trainer

if TYPE_CHECKING:
    from folder_batches import FolderBatches

PROGRAM = "train_pytorch.py"
CLASSES = 1000  # of synthetic images


class Training(Interludes):
    def __init__(self, flags: Flags, ranks: Ranks, device: torch.device, stopwatch: Stopwatch) -> None:
        self.ranks, self.device, self.stopwatch = ranks, device, stopwatch
        self.folder = open_folder(flags, ranks, device)
        self.flags = self._evaluating_epochs(flags)
        self.data = str(self.folder.tree) if self.folder else "synthetic"
        self.trainer = Trainer(flags, ranks, device, len(self.folder.tree.classes) if self.folder else CLASSES)
        self.checkpoint = TorchCheckpoint(flags.checkpoint, f"{flags.network}.pt") if flags.checkpoint else None
        self.evaluated = []
        self.done_before = self.take_up()
        self.batches = self._batches()

    def run(self) -> None:
        flags = self.flags
        self._start_record()
        devices.wait_for_all(self.ranks, self.device)
        self.stopwatch.training_begins()
        under_way: deque[tuple[int, Loss]] = deque()
        # A step ends where the next one begins, so the seconds of all steps add up to the time of the loop.
        began = time.perf_counter()
        for step, (images, labels) in zip(range(self.done_before + 1, flags.total_steps + 1), self.batches):
            under_way.append((step, self.trainer.step(images, labels)))
            pause = flags.evaluates_after(step) or flags.checkpoints_after(step) or step == flags.total_steps
            while len(under_way) > (0 if pause else self.trainer.steps_ahead):
                began = self._finish(*under_way.popleft(), began)
            if pause:
                self.pause(step)
                if self.has_reached_target:
                    break
                began = time.perf_counter()
        self._end(step)

    def _end(self, step: int) -> None:
        """FlagPerf's record is of a whole training: one that went on from a checkpoint has none."""
        for evaluated in self.evaluated:
            self.stopwatch.evaluation(evaluated.seconds)
        rackmark_log.end(step)
        if self.done_before == 0:
            final = {"acc1": 100 * self.evaluated[-1].accuracy} if self.evaluated else {}
            converged = self.has_reached_target if self.flags.has_target else None
            self.stopwatch.finished(self.ranks, self.device, self.last_loss, converged, **final)

    def _finish(self, step: int, loss: Loss, began: float) -> float:
        value = loss()
        ended = time.perf_counter()
        rackmark_log.step(step, self.flags.batch, ended - began, value)
        self.stopwatch.step(step, self.flags.batch, ended - began)
        self.last_loss = value
        if not math.isfinite(value):
            raise TrainingError(f"the loss of step {step} is {value}: training cannot go on from there")
        return ended

    def _evaluating_epochs(self, flags: Flags) -> Flags:
        """Where nothing else is said, a training to a target is evaluated after each epoch."""
        if self.folder is None or flags.evaluate_every or not flags.has_target:
            return flags
        images = len(self.folder.tree.training)
        return replace(flags, evaluate_every=max(1, images // (flags.batch * self.ranks.world_size)))

    def _batches(self) -> Iterator[Batch]:
        if self.folder:
            return self.folder.training(self.done_before + 1)
        return itertools.repeat(synthetic_batch(self.flags, self.device, self.ranks.rank))

    def sum_over_ranks(self, number: int) -> int:
        (shared,) = devices.total([number], self.ranks, self.device)
        return int(shared)

    def _start_record(self) -> None:
        self.start_record(**devices.facts(self.device), parameters=parameter_count(self.trainer.network))


def open_folder(flags: Flags, ranks: Ranks, device: torch.device) -> FolderBatches | None:
    if flags.data is None:
        return None
    import folder_batches  # needs Pillow, which synthetic images do without

    return folder_batches.FolderBatches(folder_batches.images.read_tree(flags.data), flags, ranks, device)


def synthetic_batch(flags: Flags, device: torch.device, rank: int) -> Batch:
    generator = torch.Generator(device=device).manual_seed(flags.seed + rank)
    shape = (flags.batch, 3, flags.image_size, flags.image_size)
    images = torch.randn(shape, generator=generator, device=device).contiguous(memory_format=torch.channels_last)
    return images, torch.randint(CLASSES, (flags.batch,), generator=generator, device=device)


def main(arguments: list[str]) -> None:
    flags = command_line.parse(PROGRAM, __doc__, arguments, list(NETWORKS), to_target=True)
    stopwatch = Stopwatch(flags.warmup, counts="images")
    ranks = environment.from_environment()
    device = devices.choose(flags.device, flags.precision, ranks)
    devices.prepare(device, flags.deterministic)
    with devices.together(ranks, device):
        Training(flags, ranks, device, stopwatch).run()


if __name__ == "__main__":
    outcome.run(PROGRAM, main)

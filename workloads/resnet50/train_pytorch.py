"""Trains ResNet-50 with PyTorch and prints one RACKMARK line per step.

One process is one rank on one device. RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT say which;
without them it is the only rank. Runs on PyTorch 1.13 and newer.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from typing import TYPE_CHECKING, Iterator

import devices
import flags as command_line
import outcome
import rackmark_log
import ranks as environment
import torch
import torch.distributed
from checkpoints import TorchCheckpoint
from flags import Flags
from interludes import Interludes
from model import parameter_count
from outcome import TrainingError
from ranks import Ranks
from trainer import Batch, Loss, Trainer

if TYPE_CHECKING:
    from folder_batches import FolderBatches

PROGRAM = "train_pytorch.py"
CLASSES = 1000  # of synthetic images


class Training(Interludes):
    def __init__(self, flags: Flags, ranks: Ranks, device: torch.device) -> None:
        self.flags, self.ranks, self.device = flags, ranks, device
        self.folder = open_folder(flags, ranks, device)
        self.data = str(self.folder.tree) if self.folder else "synthetic"
        self.trainer = Trainer(flags, ranks, device, len(self.folder.tree.classes) if self.folder else CLASSES)
        self.checkpoint = TorchCheckpoint(flags.checkpoint) if flags.checkpoint else None
        self.done_before = self.take_up()
        self.batches = self._batches()

    def run(self) -> None:
        flags = self.flags
        self._start_record()
        devices.wait_for_all(self.ranks, self.device)
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
                began = time.perf_counter()
        rackmark_log.end(flags)

    def _finish(self, step: int, loss: Loss, began: float) -> float:
        value = loss()
        ended = time.perf_counter()
        rackmark_log.step(step, self.flags.batch, ended - began, value)
        if not math.isfinite(value):
            raise TrainingError(f"the loss of step {step} is {value}: training cannot go on from there")
        return ended

    def _batches(self) -> Iterator[Batch]:
        if self.folder:
            return self.folder.training(self.done_before + 1)
        return itertools.repeat(synthetic_batch(self.flags, self.device, self.ranks.rank))

    def sum_over_ranks(self, number: int) -> int:
        (shared,) = devices.total([number], self.ranks, self.device)
        return int(shared)

    def _start_record(self) -> None:
        rackmark_log.start(
            self.flags,
            self.ranks,
            device=self.device.type,
            device_name=devices.device_name(self.device),
            threads=torch.get_num_threads(),
            framework="pytorch",
            framework_version=torch.__version__,
            parameters=parameter_count(self.trainer.network),
            data=self.data,
            resumed_from=self.done_before if self.flags.resume else None,
        )


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
    flags = command_line.parse(PROGRAM, __doc__, arguments)
    ranks = environment.from_environment()
    device = devices.choose(flags, ranks)
    devices.prepare(device, flags.deterministic)
    if not ranks.alone:
        devices.join(ranks, device)
    try:
        Training(flags, ranks, device).run()
    except RuntimeError as error:
        sentence = devices.explain(error)
        if sentence is None:
            raise
        raise TrainingError(f"rank {ranks.rank} of {ranks.world_size} cannot go on: {sentence}") from error
    if not ranks.alone:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    outcome.run(PROGRAM, main)

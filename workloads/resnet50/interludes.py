"""What a training does between its steps, whatever its framework: evaluations, checkpoints, and going on from one."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import rackmark_log
from checkpoint_file import CheckpointFile, Content
from flags import Flags
from outcome import TrainingError, UsageError
from ranks import Ranks


class Evaluated(NamedTuple):
    seconds: float
    accuracy: float
    loss: float


class Interludes:
    """`data` says what is trained on; `folder` has the batches of a tree of images, and is None for synthetic ones."""

    flags: Flags
    ranks: Ranks
    trainer: Any
    folder: Any
    data: str
    done_before: int
    checkpoint: CheckpointFile | None
    evaluated: list[Evaluated]

    @property
    def has_reached_target(self) -> bool:
        last = self.evaluated[-1] if self.evaluated else None
        return last is not None and self.flags.target.reached_by(last.accuracy, last.loss) is True

    def sum_over_ranks(self, number: int) -> int:
        """All-reduce: blocks until every rank has called it."""
        raise NotImplementedError

    def pause(self, step: int) -> None:
        """Writes the checkpoint of a step and evaluates after it, where either is due."""
        if self.checkpoint is not None and self.flags.checkpoints_after(step):
            self._write(self.checkpoint, step)
        if self.folder is not None and self.flags.evaluates_after(step):
            self._evaluate(step)
            if self.checkpoint is not None and self.has_reached_target and not self.flags.checkpoints_after(step):
                self._write(self.checkpoint, step)

    def take_up(self) -> int:
        """How many steps the checkpoint to go on from holds, as the first rank finds it; 0 without one."""
        checkpoint, first = self.checkpoint, self.ranks.rank == 0
        if checkpoint is None:
            return 0
        if first:
            checkpoint.prepare()
        if not self._of_first_rank(int(first and checkpoint.exists())):
            return 0
        folder = checkpoint.folder
        if not self.flags.resume:
            raise UsageError(f"{folder} holds a checkpoint: add --resume to go on from it, or name another folder")
        found = checkpoint.read(self._settings())
        if found.step != self._of_first_rank(found.step):
            raise TrainingError(
                f"{folder} is not the same on all nodes: rank {self.ranks.rank} finds step {found.step}"
            )
        if found.step >= self.flags.total_steps:
            raise UsageError(
                f"the checkpoint in {folder} is of step {found.step}: --warmup and --steps ask for no more"
            )
        self.trainer.restore(found.state)
        return found.step

    def start_record(self, **facts: object) -> None:
        """`resumed_from` is the step of the checkpoint, 0 where --resume found none; said only where asked for."""
        resumed = {"resumed_from": self.done_before} if self.flags.resume else {}
        rackmark_log.start(self.ranks, **facts, **self.flags.facts(), data=self.data, **resumed)

    def _write(self, checkpoint: CheckpointFile, step: int) -> None:
        began = time.perf_counter()
        state = self.trainer.state()
        if self.ranks.rank == 0:
            checkpoint.write(Content(step, self._settings(), state))
        self.sum_over_ranks(0)
        rackmark_log.checkpoint(step, time.perf_counter() - began)

    def _evaluate(self, step: int) -> None:
        began = time.perf_counter()
        images, accuracy, loss = self.trainer.evaluate(self.folder.validation())
        planned = len(self.folder.tree.validation)
        if images != planned:
            raise TrainingError(
                f"the evaluation after step {step} saw {images} of {planned} images: ranks differ in val/"
            )
        seconds = time.perf_counter() - began
        rackmark_log.evaluation(step, seconds, images, accuracy, loss)
        self.evaluated.append(Evaluated(seconds, accuracy, loss))

    def _of_first_rank(self, number: int) -> int:
        return self.sum_over_ranks(number if self.ranks.rank == 0 else 0)

    def _settings(self) -> dict[str, object]:
        """What a checkpoint must share with the training that goes on from it."""
        flags = self.flags
        return {
            "--batch": flags.batch,
            "--precision": flags.precision,
            "--image-size": flags.image_size,
            "--seed": flags.seed,
            "world size": self.ranks.world_size,
            "data": self.data,
        }

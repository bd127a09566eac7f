"""The course of a training, the same with both frameworks: steps, then an evaluation, and a line for each."""

from __future__ import annotations

import math
import time
from typing import Callable, Iterable, Protocol

import digits
import rackmark_log
from digits import Batch
from flags import Flags
from outcome import TrainingError
from ranks import Ranks

MODEL = "mnist_cnn"


class Trainer(Protocol):
    """The network of a framework, on one rank. `facts` are what the log says of the framework and the device."""

    def facts(self) -> dict[str, object]: ...

    def parameter_count(self) -> int: ...

    def step(self, batch: Batch) -> float:
        """The loss of this rank's batch."""
        ...

    def scores(self, batches: Iterable[Batch]) -> tuple[int, int, float]:
        """Images, those whose class was found, and the sum of their losses, of this rank."""
        ...

    def total(self, numbers: list[float]) -> list[float]:
        """The sums over all ranks; blocks until every rank has called it."""
        ...

    def weights(self) -> float:
        """Their sum, by which two ranks are known to have the same ones."""
        ...

    def save(self, epoch: int) -> None:
        """Writes a checkpoint."""
        ...


class Board(Protocol):
    """Where numbers are drawn over the steps."""

    def draw(self, name: str, step: int, number: float) -> None: ...

    def close(self) -> None: ...


class Training:
    """`board` is asked for one when there is to be one, on the rank that draws."""

    def __init__(
        self, flags: Flags, ranks: Ranks, data: digits.Digits, trainer: Trainer, board: Callable[[], Board]
    ) -> None:
        self.flags, self.ranks, self.data, self.trainer = flags, ranks, data, trainer
        self._board = board() if flags.tensorboard and ranks.rank == 0 else None

    def run(self) -> None:
        rackmark_log.start(
            self.ranks,
            **self.trainer.facts(),
            **self.flags.facts(),
            model=MODEL,
            parameters=self.trainer.parameter_count(),
            data=str(self.data),
        )
        self._wait_for_all()
        last = self.flags.total_steps
        # A step ends where the next one begins, so the seconds of all steps add up to the time of the loop.
        began = time.perf_counter()
        for step, batch in enumerate(self.data.training(), 1):
            loss = self.trainer.step(batch)
            self._draw("loss", step, loss)
            ended = time.perf_counter()
            self._finish(step, ended - began, loss)
            began = ended
            if self._ends_epoch(step) and step < last:
                self._save(step)
                began = time.perf_counter()
        self._evaluate(last)
        self._save(last)
        if self._board:
            self._board.close()
        rackmark_log.end(last, self.trainer.weights())

    def _finish(self, step: int, seconds: float, loss: float) -> None:
        rackmark_log.step(step, self.flags.batch, seconds, loss)
        if not math.isfinite(loss):
            raise TrainingError(f"the loss of step {step} is {loss}: training cannot go on from there")

    def _evaluate(self, step: int) -> None:
        # Ranks begin together: a wait would count twice, as one's evaluation and the other's step.
        self._wait_for_all()
        began = time.perf_counter()
        images, right, loss = self.trainer.total([float(number) for number in self.trainer.scores(self.data.test())])
        if not images:
            return
        rackmark_log.evaluation(step, time.perf_counter() - began, round(images), right / images, loss / images)
        self._draw("test_accuracy", step, right / images)

    def _save(self, step: int) -> None:
        """All ranks wait for the one that writes, and say so: it is no part of their steps."""
        if not self.flags.checkpoints:
            return
        began = time.perf_counter()
        if self.ranks.rank == 0:
            self.trainer.save(math.ceil(step / self.data.epoch) if self.data.epoch else 1)
        self._wait_for_all()
        rackmark_log.checkpoint(step, time.perf_counter() - began)

    def _ends_epoch(self, step: int) -> bool:
        return self.data.epoch is not None and step % self.data.epoch == 0

    def _wait_for_all(self) -> None:
        self.trainer.total([0.0])

    def _draw(self, name: str, step: int, number: float) -> None:
        if self._board:
            self._board.draw(name, step, number)

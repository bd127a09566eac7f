"""Trains BERT to name masked tokens, until an evaluation reaches the target, and prints one RACKMARK line per step.

One process is one rank on one device. RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT say which;
without them it is the only rank. Runs on PyTorch 1.13 and newer.
"""

from __future__ import annotations

import math
import time

import devices
import flags as command_line
import outcome
import rackmark_log
import ranks as environment
import text
import torch
from flags import Flags
from model import parameter_count
from outcome import TrainingError
from perf_log import Stopwatch
from ranks import Ranks
from text import Batch
from trainer import Evaluated, Trainer

PROGRAM = "train_pytorch.py"


class Training:
    def __init__(self, flags: Flags, ranks: Ranks, device: torch.device, stopwatch: Stopwatch) -> None:
        self.flags, self.ranks, self.device, self.stopwatch = flags, ranks, device, stopwatch
        self.text = text.open_text(flags, ranks)
        self.trainer = Trainer(flags, ranks, device)
        self.evaluated = self._evaluation_batches()
        self.chance = torch.Generator().manual_seed((flags.seed << 20) + ranks.rank + 1)

    def run(self) -> None:
        self._start_record()
        devices.wait_for_all(self.ranks, self.device)
        self.stopwatch.training_begins()
        step, loss, last = 0, math.nan, None
        while step < self.flags.total_steps and not (last and self._reached(last)):
            step += 1
            loss = self._step(step)
            last = self._evaluate(step) if self.flags.evaluates_after(step) else None
        rackmark_log.end(step)
        if last is not None:
            self.stopwatch.finished(self.ranks, self.device, loss, self._reached(last), mlm_accuracy=last.accuracy)

    def _step(self, number: int) -> float:
        began = time.perf_counter()
        batch = text.masked(self.text.training(number, self.ranks), self.flags, self.chance)
        loss = self.trainer.step(number, batch)
        seconds = time.perf_counter() - began
        rackmark_log.step(number, self.flags.batch, seconds, loss)
        self.stopwatch.step(number, self.flags.batch, seconds)
        if not math.isfinite(loss):
            raise TrainingError(f"the loss of step {number} is {loss}: training cannot go on from there")
        return loss

    def _evaluate(self, step: int) -> Evaluated:
        # Ranks begin and end together: a wait would count twice, as one's evaluation and the other's step.
        devices.wait_for_all(self.ranks, self.device)
        began = time.perf_counter()
        found = self.trainer.evaluate(self.evaluated)
        seconds = time.perf_counter() - began
        rackmark_log.evaluation(step, seconds, found.sequences, found.accuracy, found.loss)
        self.stopwatch.evaluation(seconds)
        devices.wait_for_all(self.ranks, self.device)
        return found

    def _reached(self, evaluated: Evaluated) -> bool | None:
        return self.flags.target.reached_by(evaluated.accuracy, evaluated.loss)

    def _evaluation_batches(self) -> list[Batch]:
        """The same sequences with the same places masked, whatever the number of ranks; this rank's part of them."""
        whole = text.masked(self.text.evaluation(), self.flags, torch.Generator().manual_seed(self.flags.seed))
        mine = Batch(*(tensor[self.ranks.rank :: self.ranks.world_size] for tensor in whole))
        size = max(1, self.flags.batch // self.flags.accumulate)
        return [Batch(*parts) for parts in zip(*(tensor.split(size) for tensor in mine))]

    def _start_record(self) -> None:
        rackmark_log.start(
            self.ranks,
            **devices.facts(self.device),
            model="bert",
            parameters=parameter_count(self.trainer.network),
            **self.flags.facts(),
            data=str(self.text),
        )


def main(arguments: list[str]) -> None:
    flags = command_line.parse(PROGRAM, __doc__, arguments)
    stopwatch = Stopwatch(flags.warmup, counts="sequences")
    ranks = environment.from_environment()
    device = devices.choose(flags.device, flags.precision, ranks)
    devices.prepare(device, flags.deterministic)
    with devices.together(ranks, device):
        Training(flags, ranks, device, stopwatch).run()


if __name__ == "__main__":
    outcome.run(PROGRAM, main)

"""Trains a decoder as Llama's with PyTorch and prints one RACKMARK line per step.

One process is one rank on one device. RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT say which;
without them it is the only rank. Runs on PyTorch 2.6 and newer.
"""

from __future__ import annotations

import math
import re
import time

import devices
import flags as command_line
import outcome
import rackmark_log
import ranks as environment
import texts
import torch
import utilization
from flags import Flags
from outcome import TrainingError, UsageError
from perf_log import Stopwatch
from ranks import Ranks

PROGRAM = "train_llama.py"
OLDEST = (2, 6)  # the first with fully_shard as it is now


class Training:
    def __init__(self, flags: Flags, ranks: Ranks, device: torch.device, stopwatch: Stopwatch) -> None:
        from trainer import Trainer  # older versions lack what it imports

        self.flags, self.ranks, self.device, self.stopwatch = flags, ranks, device, stopwatch
        self.text = texts.open_text(flags, ranks)
        self.trainer = Trainer(flags, ranks, device)
        self.cost = utilization.Cost.of(flags, self.trainer.parameters)

    def run(self) -> None:
        self._start_record()
        devices.wait_for_all(self.ranks, self.device)
        self.stopwatch.training_begins()
        # A step ends where the next one begins, so the seconds of all steps add up to the time of the loop.
        began = time.perf_counter()
        for step, tokens in enumerate(self.text.steps(), start=1):
            loss = self.trainer.step(tokens.to(self.device, non_blocking=True))
            ended = time.perf_counter()
            rackmark_log.step(step, tokens.numel(), ended - began, loss)
            self.stopwatch.step(step, tokens.numel(), ended - began)
            if not math.isfinite(loss):
                raise TrainingError(f"the loss of step {step} is {loss}: training cannot go on from there")
            began = ended
        self._state(devices.longest([self.stopwatch.computing], self.ranks, self.device)[0])
        rackmark_log.end(self.flags.total_steps)
        self.stopwatch.finished(self.ranks, self.device, loss)

    def _state(self, seconds: float) -> None:
        """For all ranks, which have measured as long as the slowest of them."""
        if self.ranks.rank == 0:
            tokens = self.flags.steps * self.flags.sequences * self.flags.shape.seq
            utilization.state(self.flags, self.cost, tokens / seconds)

    def _start_record(self) -> None:
        rackmark_log.start(
            self.ranks,
            **devices.facts(self.device),
            model="llama",
            **self.flags.facts(),
            data=str(self.text),
            parameters=self.cost.parameters,
            flops_per_token=self.cost.of_weights,
            flops_per_token_with_attention=self.cost.with_attention,
            loss_floor=self.text.entropy,
        )


def main(arguments: list[str]) -> None:
    flags = command_line.parse(PROGRAM, __doc__, arguments)
    stopwatch = Stopwatch(flags.warmup, counts="tokens")
    require_version(torch.__version__)
    ranks = environment.from_environment()
    device = devices.choose(flags.device, flags.precision, ranks)
    devices.prepare(device, deterministic=False)
    with devices.together(ranks, device):
        Training(flags, ranks, device, stopwatch).run()


def require_version(version: str) -> None:
    found = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if found < OLDEST:
        raise UsageError(
            f"PyTorch {version} is too old for this training: it takes {'.'.join(map(str, OLDEST))} or newer"
        )


if __name__ == "__main__":
    outcome.run(PROGRAM, main)

"""Trains a small convolutional network on MNIST with PyTorch, and prints one RACKMARK line per step.

One process is one rank on one device. RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT say which;
without them it is the only rank. Runs on PyTorch 1.13 and newer.
"""

from __future__ import annotations

from typing import NoReturn

import devices
import digits
import flags as command_line
import outcome
import ranks as environment
from outcome import UsageError
from trainer_pytorch import PyTorchTrainer
from training import Training

PROGRAM = "train_pytorch.py"


def no_board() -> NoReturn:
    raise UsageError("--tensorboard needs framework=horovod, whose environment has TensorBoard")


def main(arguments: list[str]) -> None:
    flags = command_line.parse(PROGRAM, __doc__, arguments)
    ranks = environment.from_environment()
    data = digits.open_digits(flags, ranks)
    device = devices.choose(flags.device, flags.precision, ranks)
    devices.prepare(device, deterministic=False)
    with devices.together(ranks, device):
        Training(flags, ranks, data, PyTorchTrainer(flags, ranks, device, data), no_board).run()


if __name__ == "__main__":
    outcome.run(PROGRAM, main)

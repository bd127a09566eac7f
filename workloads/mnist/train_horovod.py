"""Trains a small convolutional network on MNIST with TensorFlow and Horovod, and prints one RACKMARK line per step.

One process is one rank on one device. RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT say which, or
horovodrun does; without them it is the only rank. Runs on TensorFlow 2.15 and Horovod 0.28.
"""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # its notes on a start fill a screen

import digits
import flags as command_line
import horovod.tensorflow as hvd
import meet
import outcome
import tensorflow as tf
from horovod.common.exceptions import HorovodInternalError
from outcome import TrainingError
from ranks import Ranks
from trainer_horovod import HorovodTrainer, TensorBoard, prepare
from training import Training

PROGRAM = "train_horovod.py"


def join(ranks: Ranks) -> None:
    meet.meet(ranks)
    hvd.init()
    if (hvd.rank(), hvd.size()) != (ranks.rank, ranks.world_size):
        raise TrainingError(
            f"this is rank {ranks.rank} of {ranks.world_size}, and Horovod counts it as rank {hvd.rank()} of"
            f" {hvd.size()}"
        )


def main(arguments: list[str]) -> None:
    flags = command_line.parse(PROGRAM, __doc__, arguments)
    ranks = meet.place()
    data = digits.open_digits(flags, ranks)
    device = prepare(flags.device, ranks)
    try:
        join(ranks)
        Training(flags, ranks, data, HorovodTrainer(flags, ranks, device, data), TensorBoard).run()
    except (HorovodInternalError, tf.errors.OpError) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise TrainingError(f"rank {ranks.rank} of {ranks.world_size} cannot go on: {said[0]}") from error
    hvd.shutdown()
    outcome.leave(0)


if __name__ == "__main__":
    outcome.run(PROGRAM, main)

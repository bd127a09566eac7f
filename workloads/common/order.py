"""In what order samples are trained on and evaluated: by their indices, the same whatever the framework."""

from __future__ import annotations

from typing import Iterator

import numpy as np
from outcome import UsageError


def training_order(
    count: int, seed: int, batch: int, rank: int, world_size: int, first: int, last: int
) -> Iterator[list[tuple[int, int]]]:
    """Of steps first to last, each sample of this rank's batch as (epoch, index). Every batch is full.

    An epoch is a shuffle of all `count`, the same on all ranks; what is left at its end is too little for a step.
    """
    share = batch * world_size
    if count < share:
        raise UsageError(f"{count} training images are too few for a step of {world_size} x --batch {batch}")

    def steps() -> Iterator[list[tuple[int, int]]]:
        shuffled, order = -1, np.arange(0)
        for step in range(first - 1, last):
            epoch, place = divmod(step, count // share)
            if epoch != shuffled:
                shuffled, order = epoch, np.random.default_rng([seed, epoch]).permutation(count)
            begin = place * share + rank * batch
            yield [(epoch, int(index)) for index in order[begin : begin + batch]]

    return steps()


def evaluation_order(count: int, batch: int, rank: int, world_size: int) -> Iterator[list[int]]:
    """Batches of this rank's part of all samples; the parts of all ranks have each sample once."""
    mine = range(rank, count, world_size)
    for begin in range(0, len(mine), batch):
        yield list(mine[begin : begin + batch])

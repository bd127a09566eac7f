"""What the network trains on: small gray images with a label each, real ones or synthetic ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, NamedTuple, Protocol, Sequence

import numpy as np
from flags import Flags
from idx_files import Array, IdxFiles, Part, read_idx_files
from order import evaluation_order, training_order
from outcome import UsageError
from ranks import Ranks

SIZE = (28, 28)
CLASSES = 10
SMALLEST = 6  # pixels of a side: two convolutions of 3 x 3 and pooling leave nothing of fewer


class Batch(NamedTuple):
    """Pixels from 0 to 1 (images, height, width), and labels."""

    pixels: Array
    labels: Array


class Digits(Protocol):
    """`epoch` is how many steps see all images once; None where there is no end to them."""

    size: tuple[int, int]
    classes: int
    epoch: int | None

    def training(self) -> Iterator[Batch]:
        """This rank's batches, step by step."""
        ...

    def test(self) -> Iterator[Batch]:
        """This rank's part of the test images; nothing where there are none."""
        ...


class Real:
    """Each image goes to one rank in an epoch; the order depends on the seed alone."""

    def __init__(self, files: IdxFiles, flags: Flags, ranks: Ranks) -> None:
        self._files, self._flags, self._ranks = files, flags, ranks
        self._order()  # says at once if there are too few images
        self.size, self.classes = files.size, files.classes
        self.epoch: int | None = len(files.training) // (flags.batch * ranks.world_size)

    def __str__(self) -> str:
        return f"{len(self._files.training)} training and {len(self._files.test)} test images ({self._files.digest})"

    def training(self) -> Iterator[Batch]:
        for keys in self._order():
            yield _batch(self._files.training, [index for _, index in keys])

    def _order(self) -> Iterator[list[tuple[int, int]]]:
        flags, ranks = self._flags, self._ranks
        return training_order(
            len(self._files.training), flags.seed, flags.batch, ranks.rank, ranks.world_size, 1, flags.total_steps
        )

    def test(self) -> Iterator[Batch]:
        ranks = self._ranks
        for indices in evaluation_order(len(self._files.test), self._flags.batch, ranks.rank, ranks.world_size):
            yield _batch(self._files.test, indices)


@dataclass
class Synthetic:
    """One batch of noise for each rank, over and over."""

    flags: Flags
    ranks: Ranks
    size: tuple[int, int] = SIZE
    classes: int = CLASSES
    epoch: int | None = None

    def __str__(self) -> str:
        return "synthetic"

    def training(self) -> Iterator[Batch]:
        chance = np.random.default_rng([self.flags.seed, self.ranks.rank])
        pixels = chance.random((self.flags.batch, *self.size), np.float32)
        batch = Batch(pixels, chance.integers(self.classes, size=self.flags.batch))
        for _ in range(self.flags.total_steps):
            yield batch

    def test(self) -> Iterator[Batch]:
        return iter(())


def open_digits(flags: Flags, ranks: Ranks) -> Digits:
    return Synthetic(flags, ranks) if flags.data is None else _open(flags.data, flags, ranks)


def _open(folder: Path, flags: Flags, ranks: Ranks) -> Digits:
    files = read_idx_files(folder)
    if min(files.size) < SMALLEST:
        height, width = files.size
        raise UsageError(
            f"the images of {folder} are {height} x {width}: this network takes {SMALLEST} x {SMALLEST} or more"
        )
    return Real(files, flags, ranks)


def _batch(part: Part, indices: Sequence[int]) -> Batch:
    return Batch(part.pixels[indices].astype(np.float32) / np.float32(255), part.labels[indices])

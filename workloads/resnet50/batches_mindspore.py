"""Batches for MindSpore: synthetic ones, or from a tree of images that MindSpore's dataset workers decode and cut."""

from __future__ import annotations

import itertools
import os
import random
from typing import Any, Iterator

import images
import numpy as np
from flags import Flags
from mindspore import Tensor
from mindspore.dataset import GeneratorDataset
from order import evaluation_order, training_order
from outcome import TrainingError
from ranks import Ranks

Arrays = Any
CLASSES = 1000  # of synthetic images


class Feed:
    """What Model.train() takes for a dataset: epochs of `block` steps, each going on where the one before it ended."""

    def __init__(self, batches: Iterator[tuple[Tensor, ...]], block: int) -> None:
        self._batches, self._block = batches, block
        self._given = 0

    def get_dataset_size(self) -> int:
        return self._block

    def create_tuple_iterator(self, **_how: object) -> Feed:
        return self

    def reset(self) -> None:
        self._given = 0

    def __iter__(self) -> Feed:
        return self

    def __next__(self) -> tuple[Tensor, ...]:
        if self._given == self._block:
            raise StopIteration
        self._given += 1
        return next(self._batches)


class SyntheticBatches:
    classes = CLASSES

    def __init__(self, flags: Flags, ranks: Ranks) -> None:
        chance = np.random.default_rng([flags.seed, ranks.rank])
        shape = (flags.batch, 3, flags.image_size, flags.image_size)
        self._images = Tensor(chance.standard_normal(shape, np.float32))
        self._labels = Tensor(chance.integers(CLASSES, size=flags.batch, dtype=np.int32))

    def __str__(self) -> str:
        return "synthetic"

    def training(self, _first_step: int) -> Iterator[tuple[Tensor, ...]]:
        return itertools.repeat((self._images, self._labels))


class FolderBatches:
    def __init__(self, flags: Flags, ranks: Ranks) -> None:
        assert flags.data is not None
        self.tree = images.read_tree(flags.data)
        self.classes = len(self.tree.classes)
        self._flags, self._ranks = flags, ranks

    def __str__(self) -> str:
        return str(self.tree)

    def training(self, first_step: int) -> Iterator[tuple[Tensor, ...]]:
        return self._load(_ForTraining(self.tree.training, self._flags, self._ranks, first_step), ["pixels", "labels"])

    def validation(self) -> Iterator[tuple[Tensor, ...]]:
        source = _ForEvaluation(self.tree.validation, self._flags, self._ranks)
        return self._load(source, ["pixels", "labels", "present"])

    def _load(self, source: Any, columns: list[str]) -> Iterator[tuple[Tensor, ...]]:  # noqa: ANN401
        if not len(source):
            return
        workers = min(self._flags.workers, os.cpu_count() or 1, len(source))
        dataset = GeneratorDataset(
            source, columns, shuffle=False, num_parallel_workers=workers, python_multiprocessing=workers > 1
        )
        try:
            yield from dataset.create_tuple_iterator(num_epochs=1)
        except RuntimeError as error:
            # What a worker raises comes with its traceback around it.
            told = [line.partition("TrainingError: ")[2] for line in str(error).splitlines()]
            raise TrainingError(next(filter(None, told), f"the images cannot be loaded: {error}")) from error


class _ForTraining:
    def __init__(self, pictures: images.Pictures, flags: Flags, ranks: Ranks, first_step: int) -> None:
        self._pictures, self._flags, self._ranks, self._first = pictures, flags, ranks, first_step
        self._order(first_step)  # says at once if there are too few images

    def __len__(self) -> int:
        return self._flags.total_steps - self._first + 1

    def __getitem__(self, place: int) -> tuple[Arrays, Arrays]:
        keys = next(self._order(self._first + int(place)))
        pixels = [self._pixels(epoch, index) for epoch, index in keys]
        return np.stack(pixels), np.array([self._pictures.labels[index] for _, index in keys], np.int32)

    def _order(self, step: int) -> Iterator[list[tuple[int, int]]]:
        flags, ranks = self._flags, self._ranks
        return training_order(len(self._pictures), flags.seed, flags.batch, ranks.rank, ranks.world_size, step, step)

    def _pixels(self, epoch: int, index: int) -> Arrays:
        # Of the image and the epoch alone: whichever worker cuts it, it is the same cut.
        chance = random.Random(f"{self._flags.seed} {epoch} {index}")
        return images.training_pixels(self._pictures.paths[index], self._flags.image_size, chance)


class _ForEvaluation:
    """Batches of one size, for which the network is compiled once: the last is filled up with what is not `present`."""

    def __init__(self, pictures: images.Pictures, flags: Flags, ranks: Ranks) -> None:
        self._pictures, self._size, self._batch = pictures, flags.image_size, flags.batch
        self._order = list(evaluation_order(len(pictures), flags.batch, ranks.rank, ranks.world_size))

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, place: int) -> tuple[Arrays, Arrays, Arrays]:
        indices = self._order[int(place)]
        pixels = np.zeros((self._batch, self._size, self._size, 3), np.uint8)
        labels = np.zeros(self._batch, np.int32)
        present = np.zeros(self._batch, np.float32)
        for position, index in enumerate(indices):
            pixels[position] = images.evaluation_pixels(self._pictures.paths[index], self._size)
            labels[position] = self._pictures.labels[index]
            present[position] = 1
        return pixels, labels, present

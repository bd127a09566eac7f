"""Batches from a tree of images: other processes decode and cut them while the device computes."""

from __future__ import annotations

import random
from typing import Any, Iterable, Iterator

import images
import torch
from flags import Flags
from order import evaluation_order, training_order
from outcome import TrainingError
from ranks import Ranks
from torch.utils.data import DataLoader, Dataset
from trainer import Batch


class FolderBatches:
    def __init__(self, tree: images.Tree, flags: Flags, ranks: Ranks, device: torch.device) -> None:
        self.tree = tree
        self._flags, self._ranks, self._device = flags, ranks, device
        self._mean = torch.tensor(images.MEAN, device=device).view(1, 3, 1, 1)
        self._deviation = torch.tensor(images.DEVIATION, device=device).view(1, 3, 1, 1)

    def training(self, first_step: int) -> Iterator[Batch]:
        flags, ranks, pictures = self._flags, self._ranks, self.tree.training
        order = training_order(
            len(pictures), flags.seed, flags.batch, ranks.rank, ranks.world_size, first_step, flags.total_steps
        )
        return self._load(_ForTraining(pictures, flags.image_size, flags.seed), order)

    def validation(self) -> Iterator[Batch]:
        pictures = self.tree.validation
        order = evaluation_order(len(pictures), self._flags.batch, self._ranks.rank, self._ranks.world_size)
        return self._load(_ForEvaluation(pictures, self._flags.image_size), order)

    def _load(self, dataset: Dataset[Any], order: Iterable[list[Any]]) -> Iterator[Batch]:
        loader = DataLoader(
            dataset,
            batch_sampler=order,
            num_workers=self._flags.workers,
            pin_memory=self._device.type == "cuda",
            generator=torch.Generator(),
        )
        try:
            for pixels, labels in loader:
                yield self._normalised(pixels), labels.to(self._device, non_blocking=True)
        except TrainingError as error:
            # What a worker raises comes with the worker's traceback in front.
            raise TrainingError(str(error).strip().rpartition(f"{TrainingError.__name__}: ")[2]) from error

    def _normalised(self, pixels: torch.Tensor) -> torch.Tensor:
        """On the device, which a quarter of the bytes have to reach then; they are channels-last as they come."""
        values = pixels.to(self._device, non_blocking=True).permute(0, 3, 1, 2).float()
        return values.sub_(self._mean).div_(self._deviation)


class _ForTraining(Dataset[Any]):
    def __init__(self, pictures: images.Pictures, size: int, seed: int) -> None:
        self._pictures, self._size, self._seed = pictures, size, seed

    def __getitem__(self, key: tuple[int, int]) -> tuple[Any, int]:
        epoch, index = key
        # Of the image and the epoch alone: whichever worker cuts it, it is the same cut.
        chance = random.Random(f"{self._seed} {epoch} {index}")
        return images.training_pixels(self._pictures.paths[index], self._size, chance), self._pictures.labels[index]


class _ForEvaluation(Dataset[Any]):
    def __init__(self, pictures: images.Pictures, size: int) -> None:
        self._pictures, self._size = pictures, size

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return images.evaluation_pixels(self._pictures.paths[index], self._size), self._pictures.labels[index]

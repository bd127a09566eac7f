"""Images that are JPEG files, or parts of one: decoded and cut by other processes while the device computes."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import IO, Any, Iterator, Protocol, Sequence, Union

import images
import numpy as np
import torch
from data import Data, Indices
from torch.utils.data import DataLoader, Dataset

Source = Union[str, IO[bytes]]  # the path of an image, or what it is read from


class Pictures(Protocol):
    """What there is to decode; `order` may keep together what is read faster together."""

    def __len__(self) -> int: ...

    def read(self, index: int) -> tuple[Source, int]:
        """An image and its label."""
        ...

    def order(self, draw: Sequence[int], count: int) -> Indices: ...


class PictureImages:
    """`processes` decode; with none, the training itself does."""

    def __init__(self, pictures: Pictures, size: int, processes: int, augmented: bool) -> None:
        self.count = len(pictures)
        self.order = pictures.order
        self._pictures, self._size, self._processes, self._augmented = pictures, size, processes, augmented

    def batches(self, steps: Sequence[Indices], draw: Sequence[int]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        decoded = _Decoded(self._pictures, self._size, draw if self._augmented else None)
        yield from DataLoader(
            decoded,
            batch_sampler=[step.tolist() for step in steps],
            num_workers=self._processes,
            pin_memory=torch.cuda.is_initialized(),  # and not where the next network is made
            generator=torch.Generator(),
        )


class _Decoded(Dataset[Any]):
    def __init__(self, pictures: Pictures, size: int, draw: Sequence[int] | None) -> None:
        self._pictures, self._size, self._draw = pictures, size, draw

    def __getitem__(self, index: int) -> tuple[Any, int]:
        source, label = self._pictures.read(index)
        if self._draw is None:
            return images.evaluation_pixels(source, self._size), label
        # Of the draw and the image alone: whichever process cuts it, it is the same cut.
        return images.training_pixels(source, self._size, random.Random(f"{self._draw} {index}")), label


class _Files:
    def __init__(self, pictures: images.Pictures) -> None:
        self._paths, self._labels = pictures.paths, pictures.labels

    def __len__(self) -> int:
        return len(self._paths)

    def read(self, index: int) -> tuple[Source, int]:
        return self._paths[index], self._labels[index]

    def order(self, draw: Sequence[int], count: int) -> Indices:
        return np.random.default_rng(draw).permutation(len(self))[: count or None]


def read_tree(folder: Path, size: int, processes: int) -> Data:
    tree = images.read_tree(folder)
    names = "\n".join([*tree.training.paths, "", *tree.validation.paths]).replace(f"{folder}/", "")
    return pictures_data(
        folder.name,
        hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()[:16],
        len(tree.classes),
        (_Files(tree.training), _Files(tree.validation)),
        size,
        processes,
    )


def pictures_data(
    name: str, digest: str, classes: int, pictures: tuple[Pictures, Pictures], size: int, processes: int
) -> Data:
    """`pictures` to train with and to evaluate."""
    train, validation = pictures
    return Data(
        name,
        digest,
        classes,
        (size, size, 3),
        PictureImages(train, size, processes, augmented=True),
        PictureImages(validation, size, processes, augmented=False),
        images.MEAN,
        images.DEVIATION,
    )

"""What trials train with: images as bytes, and which of them each epoch takes in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Protocol, Sequence

import numpy as np
import torch
from outcome import UsageError
from ranks import Ranks

Indices = Any  # an array of numpy, whose types differ from version to version


class Images(Protocol):
    """Those for one purpose. `draw` are numbers that all chance comes from."""

    count: int

    def order(self, draw: Sequence[int], count: int) -> Indices:
        """As many of the images, shuffled; 0 are all."""
        ...

    def batches(self, steps: Sequence[Indices], draw: Sequence[int]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Of each step, pixels as bytes (images, height, width, channels) and labels."""
        ...


@dataclass(frozen=True)
class Data:
    """`mean` and `deviation` are those of the pixels of each channel, 0 to 255."""

    name: str
    digest: str
    classes: int
    shape: tuple[int, int, int]
    train: Images
    validation: Images
    mean: Sequence[float]
    deviation: Sequence[float]

    def on(self, device: torch.device, pixels: torch.Tensor) -> torch.Tensor:
        """As numbers, on the device, which a quarter of the bytes have to reach then. They stay channels-last."""
        scale = torch.tensor([1 / each for each in self.deviation], device=device).view(1, -1, 1, 1)
        shift = torch.tensor([m / d for m, d in zip(self.mean, self.deviation)], device=device).view(1, -1, 1, 1)
        return pixels.to(device, non_blocking=True).permute(0, 3, 1, 2).float().mul_(scale).sub_(shift)


class ArrayImages:
    """All in memory, which processes that are forked share."""

    def __init__(self, pixels: Any, labels: Any) -> None:  # noqa: ANN401, arrays of numpy
        self.pixels, self.labels = pixels, labels
        self.count = len(labels)

    def order(self, draw: Sequence[int], count: int) -> Indices:
        return np.random.default_rng(draw).permutation(self.count)[: count or None]

    def batches(self, steps: Sequence[Indices], draw: Sequence[int]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for step in steps:
            yield torch.from_numpy(self.pixels[step]), torch.from_numpy(self.labels[step])


def steps_of(order: Indices, batch: int, ranks: Ranks) -> list[Indices]:
    """This rank's images of each step: every image once, and no step of much fewer images than another."""
    count = -(-len(order) // (batch * ranks.world_size))
    return [np.array_split(step, ranks.world_size)[ranks.rank] for step in np.array_split(order, max(1, count))]


def check_amounts(data: Data, train_images: int, eval_images: int, devices: int) -> None:
    for images, asked, name in (
        (data.train, train_images, "train_images"),
        (data.validation, eval_images, "eval_images"),
    ):
        if asked > images.count:
            raise UsageError(f"{data.name} has {images.count} images for {name}={asked}: ask for fewer, or for all (0)")
        if (asked or images.count) < devices:
            raise UsageError(f"{name} are {asked or images.count} images, too few for {devices} devices")

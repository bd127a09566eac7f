"""Images in folders by class, train/<class>/* and val/<class>/*: which there are, in what order, and their pixels.

Pixels are those of a file by its path, or of one in memory, which has a name for its mistakes.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Iterator

from outcome import TrainingError, UsageError

try:
    import numpy as np
    from PIL import Image, ImageOps
except ImportError as missing:
    raise UsageError(f"--data needs Pillow and NumPy where the training runs: {missing}") from missing

SUFFIXES = {".bmp", ".jpeg", ".jpg", ".png", ".webp"}
# Of the red, green and blue of ImageNet's pixels, 0 to 255.
MEAN = (123.675, 116.28, 103.53)
DEVIATION = (58.395, 57.12, 57.375)
AREA = (0.08, 1.0)  # share of an image that a training crop covers
RATIO = (3 / 4, 4 / 3)  # its width over its height
MARGIN = 256 / 224  # shorter side of an evaluated image over the side of the square cut from its middle


@dataclass(frozen=True)
class Pictures:
    paths: list[str]
    labels: list[int]

    def __len__(self) -> int:
        return len(self.paths)


@dataclass(frozen=True)
class Tree:
    classes: list[str]
    training: Pictures
    validation: Pictures

    def __str__(self) -> str:
        counts = f"{len(self.training)} training and {len(self.validation)} validation images"
        return f"{counts} of {len(self.classes)} classes"


def read_tree(root: Path) -> Tree:
    classes = _classes(root / "train")
    unknown = sorted(set(_classes(root / "val")) - set(classes))
    if unknown:
        raise UsageError(f"{root / 'val'} has classes that {root / 'train'} lacks: {', '.join(unknown[:5])}")
    return Tree(classes, _pictures(root / "train", classes), _pictures(root / "val", classes))


def training_pixels(source: str | IO[bytes], size: int, chance: random.Random) -> np.ndarray[Any, Any]:
    """Height x width x RGB of a random crop, mirrored as often as not."""
    with _opened(source) as image:
        pixels = _cut(image, _random_box(image.size, chance), size)
    return np.array(ImageOps.mirror(pixels) if chance.random() < 0.5 else pixels)


def evaluation_pixels(source: str | IO[bytes], size: int) -> np.ndarray[Any, Any]:
    with _opened(source) as image:
        width, height = image.size
        side = min(width, height) / MARGIN
        left, top = (width - side) / 2, (height - side) / 2
        return np.array(_cut(image, (left, top, left + side, top + side), size))


def _classes(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise UsageError(f"--data needs the folders train and val, each with a folder per class: {folder} is missing")
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _pictures(folder: Path, classes: list[str]) -> Pictures:
    paths: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(classes):
        place = folder / name
        found = sorted(entry.name for entry in place.iterdir()) if place.is_dir() else []
        mine = [
            f"{place}/{file}" for file in found if not file.startswith(".") and Path(file).suffix.lower() in SUFFIXES
        ]
        paths += mine
        labels += [label] * len(mine)
    if not paths:
        raise UsageError(
            f"{folder} holds no images: they are looked for as <class>/<name> with {', '.join(sorted(SUFFIXES))}"
        )
    return Pictures(paths, labels)


@contextmanager
def _opened(source: str | IO[bytes]) -> Iterator[Image.Image]:
    try:
        with Image.open(source) as image:
            yield image
    except (OSError, SyntaxError, ValueError) as error:  # Pillow does not say which file
        name = source if isinstance(source, str) else source.name
        raise TrainingError(f"the image {name} cannot be read: {error}") from error


def _random_box(size: tuple[int, int], chance: random.Random) -> tuple[float, float, float, float]:
    width, height = size
    for _ in range(10):
        area = width * height * chance.uniform(*AREA)
        ratio = RATIO[0] * (RATIO[1] / RATIO[0]) ** chance.random()  # as likely wide as high
        wide, high = (area * ratio) ** 0.5, (area / ratio) ** 0.5
        if wide <= width and high <= height:
            left, top = chance.uniform(0, width - wide), chance.uniform(0, height - high)
            return left, top, left + wide, top + high
    return 0, 0, width, height


def _cut(image: Image.Image, box: tuple[float, float, float, float], size: int) -> Image.Image:
    whole = image.size
    # A JPEG is decoded at a half, a quarter or an eighth of its size where that is still enough for the cut.
    enough = (int(whole[0] * size / (box[2] - box[0])) + 1, int(whole[1] * size / (box[3] - box[1])) + 1)
    image.draft("RGB", enough)
    across, down = image.size[0] / whole[0], image.size[1] / whole[1]
    scaled = (
        min(box[0] * across, image.size[0]),
        min(box[1] * down, image.size[1]),
        min(box[2] * across, image.size[0]),
        min(box[3] * down, image.size[1]),
    )
    rgb = image if image.mode == "RGB" else image.convert("RGB")
    return rgb.resize((size, size), Image.BILINEAR, box=scaled)

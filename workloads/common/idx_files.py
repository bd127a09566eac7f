"""Images and labels in the format of MNIST (IDX), plain or compressed: read whole, and kept in memory."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from outcome import UsageError

_IMAGES, _LABELS = 0x803, 0x801

Array = Any  # of numpy, whose types differ from version to version


@dataclass(frozen=True)
class Part:
    """Pixels as bytes (images, height, width), and labels."""

    pixels: Array
    labels: Array

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class IdxFiles:
    """`digest` is a word for what the files hold."""

    training: Part
    test: Part
    digest: str

    @property
    def classes(self) -> int:
        return int(max(self.training.labels.max(), self.test.labels.max())) + 1

    @property
    def size(self) -> tuple[int, int]:
        height, width = self.training.pixels.shape[1:]
        return int(height), int(width)


def read_idx_files(folder: Path) -> IdxFiles:
    summed = hashlib.sha256()
    training, test = _part(folder, "train", summed), _part(folder, "t10k", summed)
    sizes = [part.pixels.shape[1:] for part in (training, test)]
    if sizes[0] != sizes[1]:
        raise UsageError(f"the images of {folder} are {sizes[0]} in train-* and {sizes[1]} in t10k-*")
    return IdxFiles(training, test, summed.hexdigest()[:16])


def _part(folder: Path, name: str, summed: Any) -> Part:  # noqa: ANN401, what hashlib makes has no name
    pixels = _array(folder, f"{name}-images-idx3-ubyte", _IMAGES, summed)
    labels = _array(folder, f"{name}-labels-idx1-ubyte", _LABELS, summed)
    if len(pixels) != len(labels):
        raise UsageError(f"{folder}/{name}-* has {len(pixels)} images and {len(labels)} labels")
    if not len(labels):
        raise UsageError(f"{folder}/{name}-* has no images")
    return Part(pixels, labels.astype(np.int64))


def _array(folder: Path, name: str, begin: int, summed: Any) -> Array:  # noqa: ANN401
    path = next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
    if path is None:
        raise UsageError(
            f"{folder} has no {name} (or .gz): --data is the folder of MNIST's or Fashion-MNIST's four files"
        )
    try:
        content = path.read_bytes()
        summed.update(content)
        plain = zlib.decompress(content, wbits=31) if path.suffix == ".gz" else content
    except (OSError, zlib.error) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    head = plain[: 4 + 4 * (begin & 0xFF)]  # the last byte is the number of dimensions
    sizes = np.frombuffer(head, dtype=np.dtype(">u4")) if len(head) % 4 == 0 else np.zeros(0)
    if len(sizes) != 1 + (begin & 0xFF) or sizes[0] != begin:
        raise UsageError(f"{path} is no IDX file of {'images' if begin == _IMAGES else 'labels'}")
    held, said = len(plain) - sizes.nbytes, int(np.prod(sizes[1:], dtype=np.int64))
    if held != said:
        raise UsageError(f"{path} says that it holds {said} bytes after its head, and holds {held}: it is not whole")
    return np.frombuffer(plain, dtype=np.uint8, offset=sizes.nbytes).reshape([int(size) for size in sizes[1:]])

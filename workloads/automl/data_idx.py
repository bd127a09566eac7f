"""Images in the format of MNIST (IDX), as Debian's dataset-fashion-mnist has them: read whole, and kept in memory."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from data import ArrayImages, Data
from outcome import UsageError

_IMAGES, _LABELS = 0x803, 0x801
_FOR_MEAN = 5_000


def read_idx(folder: Path) -> Data:
    summed = hashlib.sha256()
    pixels, labels = _read(folder, "train", summed)
    others, their_labels = _read(folder, "t10k", summed)
    if pixels.shape[1:] != others.shape[1:]:
        raise UsageError(f"the images of {folder} are {pixels.shape[1:]} in train-* and {others.shape[1:]} in t10k-*")
    some = pixels[:_FOR_MEAN].astype(np.float32)
    return Data(
        name=folder.name,
        digest=summed.hexdigest()[:16],
        classes=int(max(labels.max(), their_labels.max())) + 1,
        shape=(*pixels.shape[1:], 1),
        train=ArrayImages(pixels[..., None], labels),
        validation=ArrayImages(others[..., None], their_labels),
        mean=[float(some.mean())],
        deviation=[float(some.std()) or 1.0],
    )


def _read(folder: Path, part: str, summed: Any) -> tuple[Any, Any]:  # noqa: ANN401, what hashlib makes has no name
    pixels = _array(folder, f"{part}-images-idx3-ubyte", _IMAGES, summed)
    labels = _array(folder, f"{part}-labels-idx1-ubyte", _LABELS, summed)
    if len(pixels) != len(labels):
        raise UsageError(f"{folder}/{part}-* has {len(pixels)} images and {len(labels)} labels")
    return pixels, labels.astype(np.int64)


def _array(folder: Path, name: str, begin: int, summed: Any) -> Any:  # noqa: ANN401
    path = next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
    if path is None:
        raise UsageError(f"{folder} has no {name} (or .gz): --data is the folder of Fashion-MNIST's four files")
    try:
        content = path.read_bytes()
        summed.update(content)
        plain = zlib.decompress(content, wbits=31) if path.suffix == ".gz" else content
    except (OSError, zlib.error) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    sizes = np.frombuffer(plain[: 4 + 4 * (begin & 0xFF)], dtype=">u4")
    if not len(sizes) or sizes[0] != begin or len(plain) != sizes.nbytes + int(np.prod(sizes[1:], dtype=np.int64)):
        raise UsageError(f"{path} is no IDX file of the size that its head says")
    return np.frombuffer(plain, dtype=np.uint8, offset=sizes.nbytes).reshape([int(size) for size in sizes[1:]])

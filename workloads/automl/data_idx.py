"""Images in the format of MNIST (IDX), as Debian's dataset-fashion-mnist has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from data import ArrayImages, Data
from idx_files import read_idx_files

_FOR_MEAN = 5_000


def read_idx(folder: Path) -> Data:
    files = read_idx_files(folder)
    some = files.training.pixels[:_FOR_MEAN].astype(np.float32)
    return Data(
        name=folder.name,
        digest=files.digest,
        classes=files.classes,
        shape=(*files.size, 1),
        train=ArrayImages(files.training.pixels[..., None], files.training.labels),
        validation=ArrayImages(files.test.pixels[..., None], files.test.labels),
        mean=[float(some.mean())],
        deviation=[float(some.std()) or 1.0],
    )

"""Which of the known forms a folder of images has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Callable

TFRECORD_NAME = re.compile(r".*\.tfrecords?(\b.*)?|.*-\d{5}-of-\d{5}(\..*)?")  # as ImageNet's: train-00000-of-01024
_IDX_NAME = re.compile(r"train-images[.-]idx3-ubyte(\.gz)?")


def kind_of_images(folder: Path) -> str | None:
    """imagefolder, idx or tfrecord; None where it is none of them. Of a large folder, few names are looked at."""
    if all((folder / name).is_dir() and _has(folder / name, Path.is_dir) for name in ("train", "val")):
        return "imagefolder"
    if _has(folder, lambda path: _IDX_NAME.fullmatch(path.name) is not None):
        return "idx"
    for place in (folder, folder / "train"):
        if place.is_dir() and _has(place, lambda path: TFRECORD_NAME.fullmatch(path.name) is not None):
            return "tfrecord"
    return None


def _has(folder: Path, wanted: Callable[[Path], bool]) -> bool:
    return any(map(wanted, folder.iterdir()))

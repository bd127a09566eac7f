"""Images in any of the known forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dataset_idx import check_idx
from dataset_imagefolder import check_imagefolder
from dataset_tfrecord import check_tfrecord
from rackmark.node.image_data import kind_of_images

_CHECKS = {"imagefolder": check_imagefolder, "idx": check_idx, "tfrecord": check_tfrecord}


def check_images(folder: Path) -> tuple[dict[str, Any] | None, list[str]]:
    kind = kind_of_images(folder)
    if kind is None:
        return None, [
            f"The dataset {folder} holds no images in a known form: neither train/ and val/ with a folder per class,"
            " nor TFRecord files such as train-00000-of-01024, nor MNIST's four files."
        ]
    return _CHECKS[kind](folder)

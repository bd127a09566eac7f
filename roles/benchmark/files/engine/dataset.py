"""Whether a dataset is of its kind and whole, and facts of it that have to be equal on all nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple

from dataset_files import check_files
from dataset_idx import check_idx
from dataset_imagefolder import check_imagefolder
from dataset_images import check_images
from dataset_tfrecord import check_tfrecord
from dataset_tokens import check_tokens


class Checked(NamedTuple):
    """`facts` is None where the data cannot be read at all."""

    facts: dict[str, Any] | None
    problems: list[str]


def _unchecked(_folder: Path) -> tuple[None, list[str]]:
    return None, []


CHECKS: Mapping[str, Callable[[Path], tuple[dict[str, Any] | None, list[str]]]] = {
    "imagefolder": check_imagefolder,
    "idx": check_idx,
    "images": check_images,
    "tokens": check_tokens,
    "tfrecord": check_tfrecord,
    "files": check_files,
    "none": _unchecked,
}


def check_dataset(kind: str, folder: Path) -> Checked:
    try:
        return Checked(*CHECKS[kind](folder))
    except OSError as error:
        where = "" if error.filename is None else f": {error.filename}"
        return Checked(None, [f"The dataset cannot be read: {error.strerror or error}{where}."])

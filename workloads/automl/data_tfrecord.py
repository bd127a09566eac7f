"""ImageNet as TFRecord files, train-* and validation-*: where each record begins is looked up once, for all workers.

So any record can be read by itself, and an epoch's order is as free as with files of their own. It goes through a few
files at a time all the same, whose parts a server reads ahead.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Sequence

import numpy as np
from data import Data, Indices
from data_images import Source, pictures_data
from example_record import BadRecordError, image_and_label
from outcome import TrainingError, UsageError
from rackmark.node.image_data import TFRECORD_NAME
from room import publish

INDEX = "dataset-index.npz"
_HEAD, _TAIL = 12, 4  # bytes around a record: its length with a sum over it, a sum over the record
_READERS = 32  # threads, which wait for a file server together
_TOGETHER = 16  # files that an epoch goes through at a time
_LOOKED_AT = 16_384  # records whose labels say how many classes there are
_FEWEST_OF_A_FILE = 8
_PATIENCE = 600.0  # seconds for another worker's index


class _Records:
    def __init__(self, files: Sequence[Path], index: Any, first_label: int, classes: int) -> None:  # noqa: ANN401
        """`index` has the file, the begin and the length of each record."""
        self._files, self._index, self._first_label, self._classes = files, index, first_label, classes

    def __len__(self) -> int:
        return len(self._index)

    def read(self, index: int) -> tuple[Source, int]:
        number, begin, length = (int(value) for value in self._index[index])
        encoded, label = _parsed(self._files[number], begin, length)
        if not 0 <= label - self._first_label < self._classes:
            last = self._first_label + self._classes - 1
            raise TrainingError(
                f"{self._files[number]} has the label {label} at byte {begin}: those of the others are"
                f" {self._first_label} to {last}"
            )
        image = io.BytesIO(encoded)
        image.name = f"at byte {begin} of {self._files[number]}"
        return image, label - self._first_label

    def order(self, draw: Sequence[int], count: int) -> Indices:
        chance = np.random.default_rng(draw)
        files = self._index[:, 0]
        begins = np.searchsorted(files, np.arange(len(self._files) + 1))
        shuffled = chance.permutation(len(self._files))
        groups = [shuffled[at : at + _TOGETHER] for at in range(0, len(shuffled), _TOGETHER)]
        parts = (np.concatenate([np.arange(begins[f], begins[f + 1]) for f in group]) for group in groups)
        return np.concatenate([chance.permutation(part) for part in parts])[: count or None]


def read_tfrecord(folder: Path, size: int, processes: int, experiment: Path, worker: int) -> Data:
    """The first worker makes the index, which is kept in the experiment."""
    parts = _files(folder, "train"), _files(folder, "val")
    digest = _digest(folder, parts)
    index = _index(experiment / INDEX, digest, parts, worker)
    first, classes = (int(value) for value in index["labels"])
    train, validation = (_Records(files, index[name], first, classes) for files, name in zip(parts, ("train", "val")))
    return pictures_data(folder.name, digest, classes, (train, validation), size, processes)


def _files(folder: Path, part: str) -> list[Path]:
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if TFRECORD_NAME.fullmatch(path.name) and path.relative_to(folder).parts[0].startswith(part) and path.is_file()
    ]
    if not found:
        raise UsageError(f"{folder} has no TFRecord files whose names begin with {part}, as in train-00000-of-01024")
    return found


def _digest(folder: Path, parts: Sequence[Sequence[Path]]) -> str:
    names = [f"{path.relative_to(folder)} {path.stat().st_size}" for files in parts for path in files]
    return hashlib.sha256("\n".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _index(path: Path, digest: str, parts: Sequence[Sequence[Path]], worker: int) -> dict[str, Any]:
    deadline = time.monotonic() + _PATIENCE
    while worker > 0 and not path.exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    if not path.exists():
        train, validation = (_over(files, _of_file) for files in parts)
        labels = _labels([*parts[0], *parts[1]], [*train, *validation])
        content = {"digest": digest, "train": _joined(train), "val": _joined(validation), "labels": labels}

        def write(fresh: Path) -> None:
            with fresh.open("wb") as file:
                np.savez(file, **content)

        publish(path, write)
    with np.load(path) as found:
        if found["digest"] != digest:
            raise UsageError(f"{path} was made of other files than these: search these in a run of their own")
        return dict(found)


def _over(items: Sequence[Any], action: Callable[[Any], Any]) -> list[Any]:
    with ThreadPoolExecutor(_READERS) as pool:
        return list(pool.map(action, items))


def _of_file(path: Path) -> list[tuple[int, int]]:
    """Begin and length of each of its records."""
    records = []
    with path.open("rb", buffering=0) as file:
        size, place = os.fstat(file.fileno()).st_size, 0
        while place < size:
            head = os.pread(file.fileno(), 8, place)
            length = struct.unpack("<Q", head)[0] if len(head) == 8 else size
            if place + _HEAD + length + _TAIL > size:
                raise UsageError(f"{path} is cut off, or no TFRecord file: its record at byte {place} is not whole")
            records.append((place + _HEAD, length))
            place += _HEAD + length + _TAIL
    return records


def _joined(records: Sequence[Sequence[tuple[int, int]]]) -> Any:  # noqa: ANN401, an array of numpy
    rows = [(number, begin, length) for number, found in enumerate(records) for begin, length in found]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _labels(files: Sequence[Path], records: Sequence[Sequence[tuple[int, int]]]) -> Any:  # noqa: ANN401
    """The first label, which is 0 or 1, and how many there are."""
    each = max(_FEWEST_OF_A_FILE, _LOOKED_AT // len(files))
    some = [(path, begin, length) for path, found in zip(files, records) for begin, length in found[:each]]
    labels = _over(some, lambda record: _parsed(*record)[1])
    first = 0 if min(labels, default=0) < 1 else 1
    return np.array([first, max(labels, default=0) - first + 1])


def _parsed(path: Path, begin: int, length: int) -> tuple[bytes, int]:
    try:
        with path.open("rb", buffering=0) as file:
            return image_and_label(os.pread(file.fileno(), length, begin))
    except BadRecordError as error:
        raise TrainingError(f"The record at byte {begin} of {path} {error}") from None
    except OSError as error:
        raise TrainingError(f"{path} cannot be read: {error.strerror}") from None

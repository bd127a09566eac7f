"""Records of TensorFlow. Each is its length, a sum over the length, the data, and a sum over the data."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from dataset_trees import digest, files_below, sampled_bytes
from rackmark.node.image_data import TFRECORD_NAME

_MOST_OPENED = 64
_MOST_SUMMED = 1 << 20
_POLYNOMIAL = 0x82F63B78  # Castagnoli's, backwards
_MASK = 0xA282EAD8


def check_tfrecord(folder: Path) -> tuple[dict[str, Any] | None, list[str]]:
    """Of large sets, a sample of the files is opened."""
    paths = files_below(folder, lambda name: TFRECORD_NAME.fullmatch(name) is not None)
    if not paths:
        return None, [
            f"The dataset {folder} holds no TFRecord files: no *.tfrecord, and none such as train-00000-of-00128."
        ]
    every = -(-len(paths) // _MOST_OPENED)
    problems = [problem for problem in map(_fault, paths[::every]) if problem]
    return {"files": len(paths), "names": digest(folder, paths), "bytes": sampled_bytes(paths)}, problems


def _fault(path: Path) -> str | None:
    """Of the first record."""
    size = path.stat().st_size
    if not size:
        return f"{path} is empty."
    with path.open("rb") as file:
        head = file.read(12)
        if len(head) < 12 or struct.unpack("<I", head[8:])[0] != masked_sum(head[:8]):
            return f"{path} is not a TFRecord file: it does not begin with the length of a record."
        (length,) = struct.unpack("<Q", head[:8])
        if 16 + length > size:
            return f"{path} is cut off: its first record has {length} bytes, and the file {size}."
        if length > _MOST_SUMMED:
            return None
        data, end = file.read(length), file.read(4)
    return (
        None
        if struct.unpack("<I", end)[0] == masked_sum(data)
        else f"{path} is damaged: its first record has another sum."
    )


def masked_sum(data: bytes) -> int:
    """CRC-32C, turned and shifted as TensorFlow does, so that a sum over sums is not trivial."""
    found = 0xFFFFFFFF
    for byte in data:
        found = _TABLE[(found ^ byte) & 0xFF] ^ (found >> 8)
    found ^= 0xFFFFFFFF
    return (((found >> 15) | (found << 17)) + _MASK) & 0xFFFFFFFF


def _entry(number: int) -> int:
    for _ in range(8):
        number = (number >> 1) ^ (_POLYNOMIAL if number & 1 else 0)
    return number


_TABLE = [_entry(number) for number in range(256)]

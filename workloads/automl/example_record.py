"""TensorFlow's Example as it stands in a TFRecord file: read by hand, for nothing else of TensorFlow is needed.

Example { Features features = 1 }      Features { map<string, Feature> feature = 1 }
Feature { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3 }
"""

from __future__ import annotations

from typing import Iterator, Union

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_Value = Union[int, memoryview]


class BadRecordError(ValueError):
    """What a record lacks, as the end of a sentence."""


def image_and_label(record: bytes) -> tuple[bytes, int]:
    """The encoded image, and the label as it stands there."""
    wanted = {b"image/encoded": b"", b"image/class/label": b""}
    try:
        for features in _values(memoryview(record), 1):
            for entry in _values(features, 1):
                (key,) = _values(entry, 1)
                if key in wanted:
                    (value,) = _values(entry, 2)
                    wanted[bytes(key)] = bytes(value)
        images = [image for found in _values(memoryview(wanted[b"image/encoded"]), 1) for image in _values(found, 1)]
        labels = [label for found in _values(memoryview(wanted[b"image/class/label"]), 3) for label in _numbers(found)]
    except (ValueError, IndexError):
        raise BadRecordError("is no Example of TensorFlow") from None
    if len(images) != 1 or len(labels) != 1:
        raise BadRecordError("has not one image/encoded and one image/class/label")
    return bytes(images[0]), labels[0]


def _values(message: memoryview, number: int) -> Iterator[memoryview]:
    for field, value in _fields(message):
        if field == number and isinstance(value, memoryview):
            yield value


def _numbers(message: memoryview) -> Iterator[int]:
    """Of an Int64List, packed or one by one."""
    for field, value in _fields(message):
        if field == 1 and isinstance(value, int):
            yield value
        elif field == 1 and isinstance(value, memoryview):
            place = 0
            while place < len(value):
                number, place = _varint(value, place)
                yield number


def _fields(message: memoryview) -> Iterator[tuple[int, _Value]]:
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == _VARINT:
            number, place = _varint(message, place)
            yield tag >> 3, number
            continue
        if kind == _BYTES:
            length, place = _varint(message, place)
        elif kind in (_FIXED32, _FIXED64):
            length = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(kind)
        if place + length > len(message):
            raise ValueError(length)
        yield tag >> 3, message[place : place + length]
        place += length


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[place]
        place += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return number, place
        if shift > 63:
            raise ValueError(shift)

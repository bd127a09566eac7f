"""Reads the numbers of many equal lines at once, by looking at eight bytes of every line in one step.

What it cannot read (signs, exponents, nan, more than 15 digits) it leaves to the template's regular expression, which
says the same of any line and takes ten times as long.
"""

from __future__ import annotations

from typing import Mapping

import numpy as np

from .arrays import Array
from .template import Blanks, Field, Literal, Template

_PADDING = bytes(64)
_MOST_DIGITS = 15  # more do not fit a float
_u64 = np.uint64
_POWERS = np.power(10.0, np.arange(0, 19))
_DOT, _MINUS = 0x2E, 0x2D


class Window:
    """A piece of a log whose every eight neighbouring bytes can be had as one number."""

    def __init__(self, text: bytes) -> None:
        self._padded = text + _PADDING
        self.bytes = np.frombuffer(self._padded, np.uint8)
        self.words = np.ndarray((len(text) + len(_PADDING) - 7,), "<u8", self._padded, 0, (1,))
        self.lines = np.concatenate(([0], np.flatnonzero(self.bytes[: len(text)] == 0x0A) + 1))


def starts_with(window: Window, at: Array, text: bytes) -> Array:
    good = np.ones(len(at), bool)
    for offset in range(0, len(text), 8):
        piece = text[offset : offset + 8]
        mask = _u64((1 << 8 * len(piece)) - 1)
        good &= window.words[_inside(window, at + offset)] & mask == _u64(int.from_bytes(piece, "little"))
    return good


def read(window: Window, at: Array, template: Template) -> tuple[Array, Mapping[str, Array]] | None:
    """Which of the places hold the template, and the numbers there; None where it has more than numbers."""
    if any(field.kind not in ("int", "float") for field in template.fields):
        return None
    good = np.ones(len(at), bool)
    numbers = {}
    for part in template.parts:
        at = _inside(window, at)
        if isinstance(part, Literal):
            good &= starts_with(window, at, part.text)
            at = at + len(part.text)
        elif isinstance(part, Blanks):
            here = at
            at = _after_blanks(window, at)
            good &= at > here
        else:
            numbers[part.name], at, read_well = _number(window, at, part)
            good &= read_well
    if template.ends_with_number:
        good &= _ends_there(window, at)
    return good, numbers


def _inside(window: Window, at: Array) -> Array:
    return np.minimum(at, len(window.words) - 1)


def _number(window: Window, at: Array, field: Field) -> tuple[Array, Array, Array]:
    """The number at each place, what comes after it, and whether it was read."""
    whole, digits = _digits(window, at)
    good = (digits > 0) & (digits <= _MOST_DIGITS)
    at = at + digits
    if field.kind == "int":
        return whole.astype(float), at, good
    next_byte = window.bytes[_inside(window, at)]
    dotted = next_byte == _DOT
    fraction, places = _digits(window, at + 1)
    places = np.where(dotted, places, 0)
    good &= digits + places <= _MOST_DIGITS
    scale = _POWERS[np.minimum(places, _MOST_DIGITS)]
    value = np.where(places > 0, (whole * scale + np.where(dotted, fraction, 0)) / scale, whole)
    at = at + np.where(dotted, places + 1, 0)
    after = window.bytes[_inside(window, at)] | 0x20
    return value, at, good & (after != ord("e"))


def _digits(window: Window, at: Array) -> tuple[Array, Array]:
    """The number that up to 16 digits at each place make, and how many they are."""
    value, digits = _up_to_eight(window, at)
    if not (digits == 8).any():
        return value, digits
    more, further = _up_to_eight(window, at + 8)
    further = np.where(digits == 8, further, 0)
    return np.where(further > 0, value * _POWERS[further] + more, value), digits + further


def _up_to_eight(window: Window, at: Array) -> tuple[Array, Array]:
    digits_as_numbers = window.words[_inside(window, at)] ^ _u64(0x3030303030303030)
    others = ((digits_as_numbers + _u64(0x0606060606060606)) | digits_as_numbers) & _u64(0xF0F0F0F0F0F0F0F0)
    below_first = (others & (~others + _u64(1))) - _u64(1)
    digits = (np.bitwise_count(below_first) >> 3).astype(np.int64)
    shift = np.minimum((8 - digits) * 8, 56).astype(_u64)
    value = np.where(digits == 0, _u64(0), (digits_as_numbers & _u64(0x0F0F0F0F0F0F0F0F)) << shift)
    value = (value * _u64(10 * 256 + 1)) >> _u64(8)
    value = ((value & _u64(0x00FF00FF00FF00FF)) * _u64(100 * 65536 + 1)) >> _u64(16)
    value = ((value & _u64(0x0000FFFF0000FFFF)) * _u64(10000 * 2**32 + 1)) >> _u64(32)
    return value.astype(float), digits


def _after_blanks(window: Window, at: Array) -> Array:
    for _ in range(64):
        byte = window.bytes[_inside(window, at)]
        blank = (byte == 0x20) | (byte == 0x09)
        if not blank.any():
            break
        at = at + blank
    return at


def _ends_there(window: Window, at: Array) -> Array:
    """Whether what follows shows that the number is whole; a dot may be the end of a sentence or of a torn line."""
    byte = window.bytes[_inside(window, at)]
    letter = ((byte | 0x20) >= ord("a")) & ((byte | 0x20) <= ord("z"))
    digit = (byte >= 0x30) & (byte <= 0x39)
    return ~(letter | digit | (byte == _DOT) | (byte == _MINUS) | (byte == ord("+")) | (byte == ord("_")) | (byte == 0))

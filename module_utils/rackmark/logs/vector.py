"""Reads the numbers of many equal lines at once, by looking at eight bytes of every line in one step.

What it cannot read (signs, nan, more than 19 digits) it leaves to the template's regular expression, which
says the same of any line and takes ten times as long.
"""

from __future__ import annotations

from typing import Mapping

import numpy as np

from .arrays import Array
from .template import Blanks, Field, Literal, Template

MOST_DIGITS = 19  # more do not fit 64 bits
_OF_A_FLOAT = 15  # digits that a float holds whatever they are
_PADDING = bytes(2048)
_LONGEST_TEXT = 1024  # of a template: no place gets further behind the end, where there is nothing to read
_u64 = np.uint64
_POWERS = np.power(_u64(10), np.arange(MOST_DIGITS + 1, dtype=_u64))
_MOST_DIGITS_OF_A_POWER = 22  # higher powers of ten do not fit a float
_FLOAT_POWERS = np.array([float(10**power) for power in range(_MOST_DIGITS_OF_A_POWER + 1)])
_HAS_LONG_FLOATS = np.finfo(np.longdouble).nmant >= 63
_DOT, _MINUS, _PLUS = b".-+"


class Window:
    """A piece of a log whose every eight neighbouring bytes can be had as one number."""

    def __init__(self, text: bytes) -> None:
        self._padded = text + _PADDING
        self.bytes = np.frombuffer(self._padded, np.uint8)
        self.words = np.ndarray((len(self._padded) - 7,), "<u8", self._padded, 0, (1,))
        self.lines = np.concatenate(([0], np.flatnonzero(self.bytes[: len(text)] == 0x0A) + 1))


def starts_with(window: Window, at: Array, text: bytes) -> Array:
    good = np.ones(len(at), bool)
    for offset in range(0, len(text), 8):
        piece = text[offset : offset + 8]
        words = window.words[at + offset]
        if len(piece) < 8:
            words &= _u64((1 << 8 * len(piece)) - 1)
        good &= words == _u64(int.from_bytes(piece, "little"))
    return good


def read(window: Window, at: Array, template: Template) -> tuple[Array, Mapping[str, Array]] | None:
    """Which of the places hold the template, and the numbers there; None where it has more than numbers."""
    if len(template.text) > _LONGEST_TEXT or any(field.kind not in ("int", "float") for field in template.fields):
        return None
    good = np.ones(len(at), bool)
    numbers = {}
    for part in template.parts:
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


def quotient(numbers: Array, places: Array | int) -> tuple[Array, Array]:
    """Whole numbers of up to 19 digits with that many decimal places as the nearest floats, and which of them are."""
    scale = _FLOAT_POWERS[places]
    values = numbers.astype(float)
    values /= scale
    exact = numbers < _POWERS[_OF_A_FLOAT]
    if _HAS_LONG_FLOATS and not exact.all():
        many = np.flatnonzero(~exact)
        long_values = numbers[many].astype(np.longdouble) / np.broadcast_to(scale, len(numbers))[many]
        values[many] = long_values.astype(float)
        # Halfway between two floats the long one may itself have been rounded to there.
        exact[many] = np.abs(long_values - values[many]) != np.spacing(values[many]) / 2
    return values, exact


def scaled(numbers: Array, powers: Array) -> tuple[Array, Array]:
    """Whole numbers times powers of ten as the nearest floats, and which of them are."""
    exact = (numbers < _POWERS[_OF_A_FLOAT]) & (np.abs(powers) <= _MOST_DIGITS_OF_A_POWER)
    scale = _FLOAT_POWERS[np.where(exact, np.abs(powers), 0).astype(np.intp)]
    values = numbers.astype(float)
    return np.where(powers < 0, values / scale, values * scale), exact


def eight_digits(word: Array) -> Array:
    """The number whose last digit is the highest byte; by tens, hundreds and ten thousands at a time."""
    word &= _u64(0x0F0F0F0F0F0F0F0F)
    for factor, shift, mask in (
        (10 * 2**8 + 1, 8, 0x00FF00FF00FF00FF),
        (100 * 2**16 + 1, 16, 0x0000FFFF0000FFFF),
        (10000 * 2**32 + 1, 32, 0xFFFFFFFF),
    ):
        word *= _u64(factor)
        word >>= _u64(shift)
        word &= _u64(mask)
    return word


def _number(window: Window, at: Array, field: Field) -> tuple[Array, Array, Array]:
    """The number at each place, what comes after it, and whether it was read."""
    whole, digits = _digits(window, at)
    at = at + digits
    good = (digits > 0) & (digits <= _OF_A_FLOAT)
    if field.kind == "int":
        return whole.astype(float), at, good
    dotted = window.bytes[at] == _DOT
    places = np.zeros(len(at), np.intp)
    if dotted.any():
        fraction, places = _digits(window, at + dotted)
        places *= dotted
        good &= digits + places <= MOST_DIGITS
        places = np.minimum(places, MOST_DIGITS)
        whole = whole * _POWERS[places] + fraction * dotted
        at = at + dotted + places
    values, exact = quotient(whole, places)
    raised = np.flatnonzero(window.bytes[at] | 0x20 == ord("e"))
    if len(raised):
        power, at[raised], read_well = _exponent(window, at[raised])
        values[raised], exact[raised] = scaled(whole[raised], power - places[raised])
        good[raised] &= read_well
    return values, at, good & exact


def _exponent(window: Window, at: Array) -> tuple[Array, Array, Array]:
    sign = window.bytes[at + 1]
    digits_at = at + 1 + ((sign == _MINUS) | (sign == _PLUS))
    power, digits = _digits(window, digits_at)
    return np.where(sign == _MINUS, -1, 1) * power.astype(float), digits_at + digits, (digits > 0) & (digits < 4)


def _digits(window: Window, at: Array) -> tuple[Array, Array]:
    """The number that up to 24 digits at each place make, right for up to 19, and how many they are."""
    value, digits = _up_to_eight(window, at)
    full = digits == 8
    for _ in range(2):
        if not full.any():
            break
        more, further = _up_to_eight(window, at + digits)
        further *= full
        value = np.where(full, value * _POWERS[further] + more, value)
        digits += further
        full &= further == 8
    return value, digits


def _up_to_eight(window: Window, at: Array) -> tuple[Array, Array]:
    value = window.words[at]
    value ^= _u64(0x3030303030303030)
    others = value + _u64(0x0606060606060606)
    others |= value
    others &= _u64(0xF0F0F0F0F0F0F0F0)
    before = others - _u64(1)
    before &= ~others
    digits = np.bitwise_count(before) >> 3
    value <<= _u64(64) - digits.astype(_u64) * _u64(8)
    return eight_digits(value), digits.astype(np.int64)


def _after_blanks(window: Window, at: Array) -> Array:
    """Behind up to 64 blanks."""
    for _ in range(8):
        blanks = _up_to_eight_blanks(window, at)
        at = at + blanks
        if not (blanks == 8).any():
            break
    return at


def _up_to_eight_blanks(window: Window, at: Array) -> Array:
    word = window.words[at]
    others = _bytes_that_differ(word, 0x20)
    others &= _bytes_that_differ(word, 0x09)
    before = others - _u64(1)
    before &= ~others
    return (np.bitwise_count(before) >> 3).astype(np.int64)


def _bytes_that_differ(word: Array, byte: int) -> Array:
    """The highest bit of each byte of the word that is another one."""
    difference = word ^ _u64(byte * 0x0101010101010101)
    above = difference & _u64(0x7F7F7F7F7F7F7F7F)
    above += _u64(0x7F7F7F7F7F7F7F7F)
    above |= difference
    above &= _u64(0x8080808080808080)
    return above


def _ends_there(window: Window, at: Array) -> Array:
    """Whether what follows shows that the number is whole; a dot may be the end of a sentence or of a torn line."""
    byte = window.bytes[at]
    letter = ((byte | 0x20) >= ord("a")) & ((byte | 0x20) <= ord("z"))
    digit = (byte >= 0x30) & (byte <= 0x39)
    return ~(letter | digit | (byte == _DOT) | (byte == _MINUS) | (byte == _PLUS) | (byte == ord("_")) | (byte == 0))

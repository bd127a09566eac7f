"""Lines that differ in their digits only, read by columns: eight bytes of every line in one step."""

from __future__ import annotations

import re
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

import numpy as np

from .arrays import Array
from .template import Field
from .vector import MOST_DIGITS, eight_digits, quotient, scaled

FEW = 64  # lines of a shape for which it is worth to be learned
_LONGEST = 2048  # bytes of a line
_PADDING = bytes(_LONGEST)
_NUMBER = re.compile(rb"([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?)(\d+))?")
_DIGITS = re.compile(rb"\d+")
_u64 = np.uint64


class Span(NamedTuple):
    """Where a field stands in its line."""

    field: Field
    begin: int
    end: int


class Match(NamedTuple):
    kind: str
    at: int
    spans: Sequence[Span]


class Lines:
    """The lines of a text; `left` are the numbers of those that no shape has explained."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.padded = text + _PADDING
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 0x0A) + 1
        self.begins = np.concatenate(([0], ends[:-1]))
        self.ends = ends
        self.lengths = ends - self.begins
        self.left = np.arange(len(ends))

    def frequency_of_lengths(self) -> Array:
        return np.bincount(np.minimum(self.lengths[self.left], _LONGEST), minlength=_LONGEST + 1)[:_LONGEST]

    def first_left_of(self, length: int) -> bytes:
        begin = int(self.begins[self.left[np.argmax(self.lengths[self.left] == length)]])
        return self.text[begin : begin + length]

    def others(self) -> tuple[bytes, Array, Array]:
        """What is left as one text, where its parts begin in it, and how far they stand from there."""
        first = np.flatnonzero(np.diff(self.left, prepend=-2) != 1)
        last = np.flatnonzero(np.diff(self.left, append=len(self.begins) + 1) != 1)
        whole_lines = int(self.ends[-1])
        begins = np.append(self.begins[self.left[first]], whole_lines)
        ends = np.append(self.ends[self.left[last]], len(self.text))
        text = b"".join([self.text[begin:end] for begin, end in zip(begins.tolist(), ends.tolist())])
        joined_begins = np.concatenate(([0], np.cumsum(ends - begins)[:-1]))
        return text, joined_begins, begins - joined_begins


class Shape:
    """A line in which each digit stands for all ten, but for `fixed` ones."""

    def __init__(self, line: bytes, matches: Sequence[Match], fixed: set[int]) -> None:
        self.matches = matches
        self._line = line
        self._words = (len(line) + 7) // 8
        free = [48 <= byte <= 57 and place not in fixed for place, byte in enumerate(line)]
        # A byte that differs from the pattern in more than the digits may has its highest bit set after the sum.
        self._pattern = self._as_words(0x30 if is_free else byte for byte, is_free in zip(line, free))
        self._sum = self._as_words(0x76 if is_free else 0x7F for is_free in free)
        self._inside = self._as_words(0x80 for _ in line)

    def _as_words(self, values: Iterable[int]) -> Array:
        return np.frombuffer(bytes(values).ljust(8 * self._words, b"\0"), "<u8")[:, None]

    def take_from(self, lines: Lines) -> Block | None:
        """Lines of this shape are no longer left, unless they are few."""
        alike = lines.lengths[lines.left] == len(self._line)
        which = np.flatnonzero(alike)
        if len(which) < FEW:
            return None
        begins = lines.begins[lines.left[which]]
        width = 8 * self._words
        windows = np.ndarray((len(lines.padded) - width + 1,), f"V{width}", lines.padded, 0, (1,))
        words = np.ascontiguousarray(windows[begins].view("<u8").reshape(-1, self._words).T)
        difference = words ^ self._pattern
        above = difference + self._sum
        above |= difference
        above &= self._inside
        good = np.bitwise_or.reduce(above, axis=0) == 0
        count = int(np.count_nonzero(good))
        if count < FEW:
            return None
        if count < len(good):
            alike[which[~good]] = False
            begins, words = begins[good], np.ascontiguousarray(words[:, good])
        lines.left = lines.left[~alike]
        return Block(self._line, lines.text, begins, words)


class Block:
    """Lines of one shape, as one array of numbers for every eight bytes."""

    def __init__(self, line: bytes, text: bytes, begins: Array, words: Array) -> None:
        self.begins = begins
        self._line = line
        self._text = text
        self._words = words

    def fields(self, spans: Sequence[Span]) -> dict[str, Any]:
        return {span.field.name: self._values(span) for span in spans}

    def _values(self, span: Span) -> Array | list[bytes]:
        if span.field.kind in ("word", "rest"):
            return self._texts(span.begin, span.end)
        if span.field.kind == "grouped":
            return span.field.numbers(self._texts(span.begin, span.end))
        return self._numbers(span.begin, span.end)

    def _texts(self, begin: int, end: int) -> list[bytes]:
        sample = self._line[begin:end]
        if not _DIGITS.search(sample):
            return [sample] * len(self.begins)
        text = self._text
        return [text[at + begin : at + end] for at in self.begins.tolist()]

    def _numbers(self, begin: int, end: int) -> Array:
        parts = _NUMBER.fullmatch(self._line, begin, end)
        if parts is None:  # nan, infinity
            return np.full(len(self.begins), float(self._line[begin:end]))
        digits = [place for number in (2, 3) for place in range(*parts.span(number)) if parts[number]]
        places = len(parts[3] or b"")
        if len(digits) > MOST_DIGITS:
            values, exact = np.zeros(len(self.begins)), np.zeros(len(self.begins), bool)
        elif parts[5]:
            sign = -1 if parts[4] == b"-" else 1
            power = sign * self._whole_number(range(*parts.span(5))[-MOST_DIGITS:]).astype(float) - places
            values, exact = scaled(self._whole_number(digits), power)
        else:
            values, exact = quotient(self._whole_number(digits), places)
        if parts[1] == b"-":
            values = -values
        for number in np.flatnonzero(~exact).tolist():
            at = int(self.begins[number])
            values[number] = float(self._text[at + begin : at + end])
        return values

    def _whole_number(self, places: Sequence[int]) -> Array:
        number = self._up_to_eight_digits(places[-8:])
        for higher in range(1, (len(places) + 7) // 8):
            number += self._up_to_eight_digits(places[-8 * higher - 8 : -8 * higher]) * _u64(10 ** (8 * higher))
        return number

    def _up_to_eight_digits(self, places: Sequence[int]) -> Array:
        value = np.zeros(len(self.begins), _u64)
        after = len(places)
        for first, count in _runs(places):
            after -= count
            word = self._bytes_from(first, count)
            word <<= _u64(8 * (8 - count))
            word >>= _u64(8 * after)
            value |= word
        return eight_digits(value)

    def _bytes_from(self, place: int, count: int) -> Array:
        number, byte = divmod(place, 8)
        word = self._words[number] >> _u64(8 * byte)
        if byte + count > 8:
            word |= self._words[number + 1] << _u64(8 * (8 - byte))
        return word


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Neighbouring places as the first of them and how many they are."""
    first = 0
    for index in range(1, len(places) + 1):
        if index == len(places) or places[index] != places[index - 1] + 1:
            yield places[first], index - first
            first = index

"""Reads lines that look alike all at once.

Lines of a log differ from each other mostly in their digits. What the kinds find in one of them they find at the same
places in every line with the same other characters, so one is read word by word and all others by columns: eight bytes
of every line in one step. A piece of a log has a few such shapes; lines of no common shape are left to who asked.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

import numpy as np

from .arrays import Array
from .heads import own_heads
from .template import Field, Literal, Template
from .vector import MOST_DIGITS, eight_digits, quotient, scaled

if TYPE_CHECKING:
    from .matching import Kind

_FEW = 64  # lines of a shape for which it is worth to be learned
_MOST_SHAPES = 8
_MOST_FAILURES = 3  # in learning shapes, for one piece
_SHORTEST, _LONGEST = 8, 2048  # bytes of lines
_PADDING = bytes(_LONGEST)
_NUMBER = re.compile(rb"([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?)(\d+))?")
_DIGITS = re.compile(rb"\d+")
_u64 = np.uint64
_EVERY_HIGH_BIT = _u64(0x8080808080808080)


class Span(NamedTuple):
    """Where a field stands in its line."""

    field: Field
    begin: int
    end: int


class Match(NamedTuple):
    kind: str
    at: int
    spans: Sequence[Span]


class Part(NamedTuple):
    """The lines of one shape that match a kind: where the matches begin, and their fields."""

    kind: str
    at: Array
    fields: Mapping[str, Any]


class Explained(NamedTuple):
    """What is known of a text, and its other lines: `moved` by how much from certain places on."""

    parts: Sequence[Part]
    others: bytes
    begins: Array
    moved: Array

    def place(self, at: Array) -> Array:
        """Where in the text is what was found in the other lines."""
        return at + self.moved[np.searchsorted(self.begins, at, "right") - 1]


class LineShapes:
    """The shapes in one log, which are learned as it goes on."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._kinds = kinds
        self._templates = [template for one in kinds for template in (one.line, one.head) if template is not None]
        self._shapes: list[_Shape] = []

    @cached_property
    def _usable(self) -> bool:
        return not any(map(_spans_lines, self._templates))

    @cached_property
    def _with_digits(self) -> Sequence[re.Pattern[bytes]]:
        return [_digit_blind(literal) for literal in _literals(self._templates) if _DIGITS.search(literal)]

    def explain(self, text: bytes) -> Explained | None:
        """None where too little is alike."""
        count = text.count(b"\n", 0, 1 << 16)
        if count < _FEW or count > (1 << 16) // _SHORTEST or not self._usable:
            return None
        lines = _Lines(text)
        known, self._shapes = self._shapes, []
        parts: list[Part] = []
        for shape in known:
            self._read(shape, lines, parts)
        self._learn(lines, parts)
        if len(lines.left) > len(lines.begins) // 2:
            self._shapes = self._shapes[: _MOST_SHAPES // 4]
        return Explained(parts, *lines.others()) if len(lines.left) < len(lines.begins) else None

    def _read(self, shape: _Shape, lines: _Lines, parts: list[Part]) -> bool:
        block = shape.take_from(lines)
        if block is None:
            return False
        parts += [Part(match.kind, block.begins + match.at, block.fields(match.spans)) for match in shape.matches]
        self._shapes.append(shape)
        return True

    def _learn(self, lines: _Lines, parts: list[Part]) -> None:
        """From the most frequent length on: nothing tells sooner which lines may be alike."""
        failures = 0
        frequency = lines.frequency_of_lengths()
        while failures < _MOST_FAILURES and len(self._shapes) < _MOST_SHAPES:
            length = int(frequency.argmax())
            if frequency[length] < _FEW:
                break
            before = len(lines.left)
            line = lines.first_left_of(length)
            shape = _Shape(line, matches_in(line, self._kinds), self._fixed_digits(line))
            if self._read(shape, lines, parts):
                frequency[length] -= before - len(lines.left)
            else:
                frequency[length] = 0
                failures += 1

    def _fixed_digits(self, line: bytes) -> set[int]:
        """Those that belong to a text that is looked for, or would with other digits."""
        return {
            place
            for expression in self._with_digits
            for match in expression.finditer(line)
            for place in range(match.start(1), match.end(1))
        }


def matches_in(line: bytes, kinds: Sequence[Kind]) -> list[Match]:
    """What the kinds find in one line."""
    found: list[Match] = []
    taken: list[tuple[bytes, int]] = []
    for one in kinds:
        anchor = one.line.anchor
        places = [match.start() for match in re.finditer(re.escape(anchor), line)]
        free = [place for place in places if not any(at == place and begin.startswith(anchor) for begin, at in taken)]
        matches = [match for match in (one.line.expression.match(line, place) for place in free) if match]
        for match, head in _with_heads(line, matches, one):
            taken.append((anchor, match.start()))
            spans = [*_spans(one.line, match), *(_spans(one.head, head) if one.head and head else ())]
            found.append(Match(one.name, match.start(), spans))
    return found


def _with_heads(
    line: bytes, matches: Sequence[re.Match[bytes]], one: Kind
) -> Iterator[tuple[re.Match[bytes], re.Match[bytes] | None]]:
    head = one.head
    if head is None:
        yield from ((match, None) for match in matches)
    elif matches and head.expression.match(line):
        at = np.array([match.start() for match in matches])
        heads, has_own = own_heads(line, np.zeros(len(at), np.int64), at, head, one.line)
        for number in np.flatnonzero(has_own).tolist():
            yield matches[number], head.expression.match(line, int(heads[number]))


def _spans(template: Template, match: re.Match[bytes]) -> Iterator[Span]:
    for number, field in enumerate(template.fields, start=1):
        yield Span(field, *match.span(number))


def _literals(templates: Sequence[Template]) -> set[bytes]:
    return {part.text for template in templates for part in template.parts if isinstance(part, Literal)}


def _digit_blind(literal: bytes) -> re.Pattern[bytes]:
    """Finds it wherever it stands, also over itself, with any digits in place of its own."""
    return re.compile(rb"(?=(" + re.sub(rb"[0-9]", rb"\\d", re.escape(literal)) + rb"))")


def _spans_lines(template: Template) -> bool:
    *parts, last = template.parts
    texts = [part.text for part in parts if isinstance(part, Literal)]
    return any(b"\n" in text for text in texts) or (isinstance(last, Literal) and b"\n" in last.text[:-1])


class _Lines:
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


class _Shape:
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

    def take_from(self, lines: _Lines) -> _Block | None:
        """Lines of this shape are no longer left, unless they are few."""
        alike = lines.lengths[lines.left] == len(self._line)
        which = np.flatnonzero(alike)
        if len(which) < _FEW:
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
        if count < _FEW:
            return None
        if count < len(good):
            alike[which[~good]] = False
            begins, words = begins[good], np.ascontiguousarray(words[:, good])
        lines.left = lines.left[~alike]
        return _Block(self._line, lines.text, begins, words)


class _Block:
    """Lines of one shape, as one array of numbers for every eight bytes."""

    def __init__(self, line: bytes, text: bytes, begins: Array, words: Array) -> None:
        self.begins = begins
        self._line = line
        self._text = text
        self._words = words

    def fields(self, spans: Sequence[Span]) -> dict[str, Any]:
        return {
            span.field.name: self._texts(span.begin, span.end)
            if span.field.kind in ("word", "rest")
            else self._numbers(span.begin, span.end)
            for span in spans
        }

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

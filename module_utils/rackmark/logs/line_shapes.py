"""Reads lines that look alike all at once.

Lines of a log differ from each other mostly in their digits. What the kinds find in one of them they find at the same
places in every line with the same other characters, so one is read word by word and all others by columns: eight bytes
of every line in one step. A piece of a log has a few such shapes; lines of no common shape are left to who asked.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import numpy as np

from . import lines_alike
from .arrays import Array
from .heads import own_heads
from .kinds import Kind
from .lines_alike import Lines, Match, Shape, Span
from .template import Literal, Template

_MOST_SHAPES = 8
_MOST_FAILURES = 3  # in learning shapes, for one piece
_TOO_FEW = 0.4  # of the lines are alike: then it is tried again after so many pieces
_PIECES_PASSED = 15
_SHORTEST = 8  # bytes of a line on average
_DIGITS = re.compile(rb"\d+")


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
        self._shapes: list[Shape] = []
        self._passing = 0

    @cached_property
    def _usable(self) -> bool:
        return not any(template.spans_lines for template in self._templates)

    @cached_property
    def _with_digits(self) -> Sequence[re.Pattern[bytes]]:
        return [_digit_blind(literal) for literal in _literals(self._templates) if _DIGITS.search(literal)]

    def explain(self, text: bytes) -> Explained | None:
        """None where too little is alike."""
        if not lines_alike.FEW <= text.count(b"\n", 0, 1 << 16) <= (1 << 16) // _SHORTEST or not self._usable:
            return None
        if self._passing:
            self._passing -= 1
            return None
        lines = Lines(text)
        known, self._shapes = self._shapes, []
        parts: list[Part] = []
        for shape in known:
            self._read(shape, lines, parts)
        self._learn(lines, parts)
        if len(lines.left) > len(lines.begins) * (1 - _TOO_FEW):
            self._passing = _PIECES_PASSED
        if len(lines.left) > len(lines.begins) // 2:
            self._shapes = self._shapes[: _MOST_SHAPES // 4]
        return Explained(parts, *lines.others()) if len(lines.left) < len(lines.begins) else None

    def _read(self, shape: Shape, lines: Lines, parts: list[Part]) -> bool:
        block = shape.take_from(lines)
        if block is None:
            return False
        parts += [Part(match.kind, block.begins + match.at, block.fields(match.spans)) for match in shape.matches]
        self._shapes.append(shape)
        return True

    def _learn(self, lines: Lines, parts: list[Part]) -> None:
        """Lengths by frequency: equal length is the cheapest hint that lines have the same shape."""
        failures = 0
        frequency = lines.frequency_of_lengths()
        while failures < _MOST_FAILURES and len(self._shapes) < _MOST_SHAPES:
            length = int(frequency.argmax())
            if frequency[length] < lines_alike.FEW:
                break
            before = len(lines.left)
            line = lines.first_left_of(length)
            matches = matches_in(line, self._kinds)
            if _overlap(matches) <= length and self._read(Shape(line, matches, self._fixed_digits(line)), lines, parts):
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


def _overlap(matches: Sequence[Match]) -> int:
    """Bytes that all fields have together: more than the line has where a rest holds the next match."""
    return sum(span.end - span.begin for match in matches for span in match.spans)


def _spans(template: Template, match: re.Match[bytes]) -> Iterator[Span]:
    for number, field in enumerate(template.fields, start=1):
        yield Span(field, *match.span(number))


def _literals(templates: Sequence[Template]) -> set[bytes]:
    return {part.text for template in templates for part in template.parts if isinstance(part, Literal)}


def _digit_blind(literal: bytes) -> re.Pattern[bytes]:
    """Finds it wherever it stands, also over itself, with any digits in place of its own."""
    return re.compile(rb"(?=(" + re.sub(rb"[0-9]", rb"\\d", re.escape(literal)) + rb"))")

"""Templates of log lines, as in "Speed: {rate:float} samples/sec": text as it stands, and what is read in braces.

    {name:int}    up to 15 digits
    {name:float}  a number with sign, fraction or exponent, or nan or inf as programs print them
    {name:grouped}  a number without sign and exponent whose thousands may be parted by commas, as in 1,690.35
    {name:word}   up to 64 characters without blanks, commas, semicolons and closing brackets
    {name:rest}   what is left of the line, up to 4000 characters
    {_}           blanks and tabs, at least one

A template becomes a regular expression whose every part is bounded, so that no line can take it long, and the same
in parts for `vector`, which reads many lines at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Iterable, Sequence

import numpy as np

from .arrays import Array

_NUMBER = rb"[-+]?(?:\d{1,15}(?:\.\d{0,18})?|\.\d{1,18})(?:[eE][-+]?\d{1,3})?"
_EXPRESSIONS = {
    "int": rb"\d{1,15}",
    "float": rb"(?:" + _NUMBER + rb"|[-+]?(?:[nN][aA][nN]|[iI][nN][fF](?:inity)?))",
    "grouped": rb"(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,15})(?:\.\d{1,18})?(?!,)",
    "word": rb"[^\s,;)\]}]{1,64}",
    "rest": rb"[^\n]{1,4000}",
}
_BLANKS = rb"[ \t]{1,64}"
# A number at the end of a match must be whole: what is cut off in the middle of one would be read as a smaller one.
_WHOLE = rb"(?=[^\w.+-]|[.,]?\s)"
_PLACEHOLDER = re.compile(r"\{(?:(_)|(\w+):(\w+))\}")


@dataclass(frozen=True)
class Literal:
    text: bytes


@dataclass(frozen=True)
class Field:
    name: str
    kind: str

    def numbers(self, texts: Iterable[bytes]) -> Array:
        return np.array([float(text.replace(b",", b"") if self.kind == "grouped" else text) for text in texts], float)


@dataclass(frozen=True)
class Blanks:
    pass


@dataclass(frozen=True)
class Template:
    text: str

    @cached_property
    def parts(self) -> Sequence[Literal | Field | Blanks]:
        parts: list[Literal | Field | Blanks] = []
        at = 0
        for match in _PLACEHOLDER.finditer(self.text):
            if match.start() > at:
                parts.append(Literal(self.text[at : match.start()].encode()))
            parts.append(Blanks() if match[1] else Field(match[2], match[3]))
            at = match.end()
        if at < len(self.text):
            parts.append(Literal(self.text[at:].encode()))
        return parts

    @property
    def fields(self) -> Sequence[Field]:
        return [part for part in self.parts if isinstance(part, Field)]

    @cached_property
    def anchor(self) -> bytes:
        """What every match begins with."""
        first = self.parts[0]
        if not isinstance(first, Literal):
            raise ValueError(f"The template {self.text!r} does not begin with text, so its lines cannot be found.")
        return first.text

    @cached_property
    def expression(self) -> re.Pattern[bytes]:
        return re.compile(b"".join(map(_expression, self.parts)) + (_WHOLE if self.ends_with_number else b""))

    @property
    def spans_lines(self) -> bool:
        *parts, last = self.parts
        texts = [part.text for part in parts if isinstance(part, Literal)]
        return any(b"\n" in text for text in texts) or (isinstance(last, Literal) and b"\n" in last.text[:-1])

    @property
    def ends_with_number(self) -> bool:
        last = self.parts[-1]
        return isinstance(last, Field) and last.kind in ("int", "float", "grouped")


def _expression(part: Literal | Field | Blanks) -> bytes:
    if isinstance(part, Literal):
        return re.escape(part.text)
    if isinstance(part, Blanks):
        return _BLANKS
    return b"(" + _EXPRESSIONS[part.kind] + b")"

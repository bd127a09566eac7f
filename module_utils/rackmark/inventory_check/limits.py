"""What the value of an option may be, in the words of roles/<role>/meta/limits.yml.

A limit is a kind (`port`), a range (`5 to 60 seconds`), a number, `auto`, `empty`, or several of them (`0 or 5 to 60`).
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Callable

from .kinds import KINDS

ANY = "any"
EMPTY = "empty"
HOST = "host"
"""A host of the inventory; who asks about a value says which these are."""
NODES = "nodes"
"""A number of nodes, or hosts and groups of the inventory."""

_NUMBER = r"-?\d+(?:\.\d+)?"
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_RANGE = re.compile(rf"({_NUMBER}) to ({_NUMBER})( \w+)?")
_LITERAL = re.compile(rf"auto|{_NUMBER}")


@dataclass(frozen=True)
class Alternative:
    words: str
    """Completes "use ..."."""
    accepts: Callable[[str], bool]
    is_of_whole_numbers: bool = False


@dataclass(frozen=True)
class Limit:
    alternatives: tuple[Alternative, ...]
    may_be_empty: bool
    kinds: tuple[str, ...]

    def accepts(self, value: object, *, fractions: bool = True) -> bool:
        """`fractions` says whether a number of a range between whole numbers may have some."""
        text = str(value)
        fits = fractions or _WHOLE.fullmatch(text) is not None
        return (self.may_be_empty and text == "") or any(
            each.accepts(text) and (fits or not each.is_of_whole_numbers) for each in self.alternatives
        )

    @property
    def words(self) -> str:
        words = ", or ".join(each.words for each in self.alternatives)
        return f"{words}, or leave it empty" if self.may_be_empty else words


@functools.lru_cache(maxsize=None)
def limit(text: str) -> Limit:
    """Raises ValueError where the words of a limits.yml mean nothing."""
    parts = [part.strip() for part in text.split(" or ")]
    return Limit(tuple(_alternative(part) for part in parts if part != EMPTY), EMPTY in parts, tuple(parts))


def ranges(text: str) -> str:
    """The numbers that a limit allows, for a README; what other kinds allow, a description says better."""
    known = [part.strip() for part in text.split(" or ")]
    return ", or ".join(part for part in known if part != EMPTY) if any(map(_RANGE.fullmatch, known)) else ""


def _alternative(text: str) -> Alternative:
    found = _RANGE.fullmatch(text)
    if found:
        low, high = float(found[1]), float(found[2])
        words = f"{found[1]} to {found[2]}{found[3] or ''}"
        return Alternative(words, lambda value: _is_within(value, low, high), "." not in found[1] + found[2])
    if _LITERAL.fullmatch(text):
        return Alternative(text, lambda value: value == text)
    if text in KINDS:
        return Alternative(KINDS[text].words, KINDS[text].accepts)
    raise ValueError(f"{text!r} is no limit: use a range, a number, auto, empty, or one of {', '.join(KINDS)}.")


def _is_within(text: str, low: float, high: float) -> bool:
    try:
        return re.fullmatch(r"[\s0-9.eE+-]+", text) is not None and low <= float(text) <= high
    except ValueError:
        return False

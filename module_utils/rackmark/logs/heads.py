"""Which head belongs to a match where lines are glued together: the last one on the line before it."""

from __future__ import annotations

import re

import numpy as np

from .arrays import Array
from .template import Literal, Template


def own_heads(text: bytes, begins: Array, at: Array, head: Template, line: Template) -> tuple[Array, Array]:
    """`at` is where matches of `line` begin, `begins` where their lines do, each of them with a head. Gives where the
    head of each match is, and which matches have one: a second one after the same head is of a line without its head.
    """
    heads = begins
    first, last = head.parts[0], head.parts[-1]
    goes_up_to_match = isinstance(last, Literal) and line.anchor.startswith(last.text)
    if not goes_up_to_match and isinstance(first, Literal) and _stands_inside_lines(text, first.text):
        inside = _inside(text, begins, at, head, first.text)
        heads = np.maximum(begins, np.append(-1, inside)[np.searchsorted(inside, at)])
    has_own = np.ones(len(at), bool)
    has_own[1:] = (begins[1:] != begins[:-1]) | (heads[1:] > at[:-1])
    return heads, has_own


def _stands_inside_lines(text: bytes, begin: bytes) -> bool:
    return text.count(begin) > text.count(b"\n" + begin) + text.startswith(begin)


def _inside(text: bytes, begins: Array, at: Array, head: Template, begin: bytes) -> Array:
    places = np.array([match.start() for match in re.finditer(re.escape(begin), text)], np.int64)
    following = np.searchsorted(at, places, "right")
    begin_of_line = np.append(begins, len(text))[following]
    match = head.expression.match
    return np.array([place for place in places[begin_of_line < places].tolist() if match(text, place)], np.int64)

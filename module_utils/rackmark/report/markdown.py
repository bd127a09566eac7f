"""Text that Markdown shows as it is, and tables."""

from __future__ import annotations

import re
from typing import Sequence

_MEANINGFUL = re.compile(r"([\\`*_\[\]<>|#~&])")
_LIST_AT_START = re.compile(r"^(\s*\d*)([-+.)])(?=\s)")


class Markup(str):
    """Text that is Markdown already."""

    __slots__ = ()


def escape(value: object) -> str:
    if isinstance(value, Markup):
        return value
    text = " ".join(str(value).split("\n"))
    return _LIST_AT_START.sub(r"\1\\\2", _MEANINGFUL.sub(r"\\\1", text))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], words: bool = False) -> Markup:
    """Numbers stand to the right, the first and the last column to the left; with `words` everything does."""
    middle = ["---" if words else "---:"] * (len(headings) - 2)
    lines = [headings, *rows]
    ruled = [_line([escape(cell) for cell in cells]) for cells in lines]
    ruled.insert(1, _line(["---", *middle, "---"] if len(headings) > 1 else ["---"]))
    return Markup("\n".join(ruled))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

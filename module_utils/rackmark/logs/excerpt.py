"""What is taken along of a log too large to be copied: its begin, its end, and in between the lines that are read.

Runs where the log is, so with the standard library alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO, Iterator, NamedTuple, Sequence

from .log_file import LONGEST_LINE, PIECE, encoding_of, plain
from .whole_log import open_log

LARGE = 64 << 20  # some hundred thousand lines on steps; what is larger holds mostly something else
AROUND = 1 << 20  # bytes that are kept at either end
_GIVEN_UP = 4 * LONGEST_LINE  # bytes of a line: whoever reads the log leaves it out
_ENDS_OF_LINES = (b"\n", b"\r", b"\x08")


class Part(NamedTuple):
    """`next` is where in the file the next part begins."""

    text: bytes
    next: int


def is_large(path: Path) -> bool:
    """Whether an excerpt is taken. Of text in UTF-16 it is not: it would have to be read anew for each part."""
    if path.suffix != ".log" or path.stat().st_size <= LARGE:
        return False
    with open_log(path) as file:
        return encoding_of(file) is None


def excerpt(path: Path, begin: int, texts: Sequence[bytes], note: str) -> Iterator[Part]:
    """Parts of what is kept, from the place `begin` on: 0, or the `next` of an earlier part.

    In between lines are kept that hold one of `texts`, without colours; `note` is a line put before them.
    """
    known = re.compile(b"|".join(map(re.escape, texts)))
    with open_log(path) as file:
        middle, end = _middle(file)
        if begin == 0:
            file.seek(0)
            yield Part(file.read(middle) + f"{note}\n".encode(), middle)
        for text, after in _whole_lines(file, max(begin, middle), end):
            kept = b"".join(_lines_with(known, plain(text)))
            if kept:
                yield Part(kept, after)
        file.seek(max(begin, end))
        rest = file.read(AROUND)
        yield Part(rest, max(begin, end) + len(rest))


def _middle(file: BinaryIO) -> tuple[int, int]:
    """Between these places are the lines that belong to neither end."""
    begin = _end_of_line(file.read(AROUND), last=True)
    size = file.seek(0, 2)
    from_here = max(begin, size - AROUND)
    file.seek(from_here)
    in_last = _end_of_line(file.read(AROUND), last=False)
    return begin, from_here + in_last if in_last else size


def _end_of_line(text: bytes, last: bool) -> int:
    """The place after the first or the last of them; 0 where there is none."""
    found = [text.rfind(one) if last else text.find(one) for one in _ENDS_OF_LINES]
    return (max(found) if last else min((place for place in found if place >= 0), default=-1)) + 1


def _whole_lines(file: BinaryIO, begin: int, end: int) -> Iterator[tuple[bytes, int]]:
    """With the place after them. A line that is far too long is passed over."""
    file.seek(begin)
    left, place, skipping = b"", begin, False
    while place < end:
        piece = file.read(min(PIECE, end - place))
        if not piece:
            return
        place += len(piece)
        text = left + piece
        cut = _end_of_line(text, last=True) if place < end else len(text)
        first = _end_of_line(text, last=False) if skipping else 0
        if cut and not (skipping and not first):
            yield text[first:cut], place - len(text) + cut
            skipping = False
        left = b"" if skipping else text[cut:]
        if len(left) > _GIVEN_UP:
            skipping, left = True, b""


def _lines_with(known: re.Pattern[bytes], text: bytes) -> Iterator[bytes]:
    at = 0
    while True:
        match = known.search(text, at)
        if match is None:
            return
        begin = text.rfind(b"\n", 0, match.start()) + 1
        at = text.find(b"\n", match.end() - 1) + 1 or len(text)
        yield text[begin:at]

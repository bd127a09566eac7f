"""Reads a log as pieces of whole lines, with what terminals and launchers add to them taken off.

A file is never held as a whole, however large it or one of its lines is.
"""

from __future__ import annotations

import codecs
import os
import re
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Iterator, Mapping

from .whole_log import open_whole

PIECE = 1 << 20
LONGEST_LINE = 1 << 20
MOST_RANKS = 1 << 13
_MANY_RANKS = 64  # of which more lines have to be read together for each to have enough of them
_PIECES_OF_MANY_RANKS = 8

_COLOURS = re.compile(rb"\x1b(?:\[[0-9;?]{0,16}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])")
_SRUN = re.compile(rb"^ {0,4}(\d{1,6}): ?(.*)$", re.MULTILINE)
_MPIRUN = re.compile(rb"^\[(?:\d{1,6},)?(\d{1,6})\]<std(?:out|err)>:(.*)$", re.MULTILINE)
_LAUNCHERS = {_SRUN: re.compile(rb"\n {0,4}\d{1,6}:"), _MPIRUN: re.compile(rb"\n\[[\d,]{1,13}\]<std")}
_LOOKED_AT = 50  # lines
_LOOKED_AT_AFTER_PREAMBLE, _ENOUGH_AFTER_PREAMBLE = 1 << 17, 20  # bytes, and lines with what a launcher puts there
_OF_ONE_RANK = 0.98  # of the lines, where all name the same rank: programs write such lines among others of their own
_MANY_LINES = 1000
_LOOKED_AT_FOR_ZEROS, _ENOUGH_ZEROS = 256, 8
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass
class LogFile:
    """`remarks` says, once the log is read, what of it could not be used."""

    path: Path
    remarks: list[str] = field(default_factory=list)

    def head(self, size: int = 1 << 18) -> bytes:
        """Its first lines, without ranks."""
        with open_whole(self.path) as file:
            text = plain(b"".join(_read(file, size, size)))
        launcher = launcher_prefix(text)
        return text if launcher is None else b"".join(by_rank(text, launcher).values())

    def tail(self, size: int = 1 << 16) -> str:
        with open_whole(self.path) as file:
            encoding = encoding_of(file)
            begin = max(0, file.seek(0, os.SEEK_END) - size)
            file.seek(begin + begin % 2 if encoding else begin)
            return plain(_as_utf_8(file.read(size), encoding)).decode(errors="replace")

    def pieces(self, size: int | None = None, most: int | None = None) -> Iterator[Mapping[int | None, bytes]]:
        """Whole lines by the rank that the launcher names, or all under None; of the first `most` bytes."""
        with open_whole(self.path) as file:
            launcher: re.Pattern[bytes] | None = None
            ranks: set[int | None] = set()
            waiting: list[bytes] = []
            for number, text in enumerate(self._lines(file, size or PIECE, most)):
                if number == 0:
                    launcher = launcher_prefix(text)
                if launcher is None:
                    yield {None: text}
                    continue
                waiting.append(text)
                if len(waiting) >= _PIECES_OF_MANY_RANKS or len(ranks) < _MANY_RANKS:
                    yield self._of_ranks(b"".join(waiting), launcher, ranks)
                    waiting.clear()
            if launcher is not None and waiting:
                yield self._of_ranks(b"".join(waiting), launcher, ranks)

    def _of_ranks(self, text: bytes, launcher: re.Pattern[bytes], ranks: set[int | None]) -> Mapping[int | None, bytes]:
        """`ranks` are those seen so far. What names more than any job has is not written by a launcher."""
        texts = by_rank(text, launcher)
        if len(ranks) < MOST_RANKS:
            ranks.update(list(texts)[: MOST_RANKS - len(ranks)])
        if texts.keys() <= ranks:
            return texts
        self._remark(f"Lines of more than {MOST_RANKS} ranks: those of the others are left out.")
        return {rank: lines for rank, lines in texts.items() if rank in ranks}

    def _lines(self, file: BinaryIO, size: int, most: int | None) -> Iterator[bytes]:
        """Pieces that end where a line does; the last may lack its end, and what stands there is cut off."""
        left = b""
        skipping = False  # inside a line that is too long
        for piece in _read(file, size, most):
            text = plain(left + piece)
            end = text.rfind(b"\n") + 1
            begin = text.find(b"\n") + 1 if skipping else 0
            if end > begin:
                yield text[begin:end]
            skipping = skipping and not end
            left = b"" if skipping else text[end:]
            if len(left) > LONGEST_LINE:
                self._remark(f"Lines of more than {LONGEST_LINE >> 20} MB were left out.")
                skipping, left = True, b""
        if left:
            yield left

    def _remark(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.append(text)


def _read(file: BinaryIO, size: int, most: int | None) -> Iterator[bytes]:
    """What was written as UTF-16, as some shells of Windows do, in UTF-8."""
    encoding = encoding_of(file)
    decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding else None
    while (most is None or file.tell() < most) and (piece := file.read(size)):
        yield decoder.decode(piece).encode(errors="replace") if decoder else piece


def encoding_of(file: BinaryIO) -> str | None:
    """By the mark at the begin of a file, which is passed over then, or by the zeros that every other byte of Latin
    text is. Binary output may begin like a mark, but text in these encodings is half zeros."""
    head = file.read(_LOOKED_AT_FOR_ZEROS)
    encoding = _UTF_16.get(head[:2]) if b"\0" in head[2:] or len(head) == 2 else None
    file.seek(2 if encoding else 0)
    return encoding or _by_zeros(head)


def _by_zeros(head: bytes) -> str | None:
    for encoding, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if len(zeros) >= _ENOUGH_ZEROS and zeros.count(0) >= 0.9 * len(zeros) and others.count(0) <= 0.1 * len(others):
            return encoding
    return None


def _as_utf_8(text: bytes, encoding: str | None) -> bytes:
    return text.decode(encoding, "replace").encode(errors="replace") if encoding else text


def keep_freed_memory() -> None:
    """Reading makes and drops megabytes all the time, and a C library that hands each back to the kernel gets new pages
    to clear every time, which takes as long as all the rest. One large block that was freed tells it not to."""
    bytes(24 << 20)


def plain(text: bytes) -> bytes:
    """Without colours, and with one kind of line end: a program that overwrites its line began a new one."""
    if b"\x1b" in text:
        text = _COLOURS.sub(b"", text)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return re.sub(rb"\x08+", b"\n", text) if b"\x08" in text else text


def launcher_prefix(text: bytes) -> re.Pattern[bytes] | None:
    """What `srun -l`, `mpirun --tag-output` or `horovodrun` put before each line, if nearly all first lines have it, or
    most lines after a preamble that is not longer than they are."""
    lines = [line for line in text[: 1 << 16].split(b"\n", 4 * _LOOKED_AT)[:-1] if line.strip()][:_LOOKED_AT]
    for launcher in _LAUNCHERS:
        ranks = [match[1] for line in lines if (match := launcher.match(line))]
        if lines and len(ranks) >= (0.9 if len(set(ranks)) > 1 else _OF_ONE_RANK) * len(lines):
            return launcher
    head = text[:_LOOKED_AT_AFTER_PREAMBLE]
    for launcher, begin in _LAUNCHERS.items():
        some = sum(1 for _ in islice(begin.finditer(head), _ENOUGH_AFTER_PREAMBLE))
        if some == _ENOUGH_AFTER_PREAMBLE and _comes_after_preamble(head, launcher):
            return launcher
    return None


def _comes_after_preamble(text: bytes, launcher: re.Pattern[bytes]) -> bool:
    lines = [line for line in text.split(b"\n")[:-1] if line.strip()]
    places = [number for number, line in enumerate(lines) if launcher.match(line)]
    if not places:
        return False
    preamble = places[0]
    several = len({match[1] for place in places[:_MANY_LINES] if (match := launcher.match(lines[place]))}) > 1
    share = 0.5 if several else _OF_ONE_RANK
    return len(places) >= max(preamble, share * (len(lines) - preamble))  # not a list of something at the end of a log


def by_rank(text: bytes, launcher: re.Pattern[bytes]) -> dict[int | None, bytes]:
    lines: dict[int | None, list[bytes]] = {}
    for rank, line in launcher.findall(text):
        lines.setdefault(int(rank), []).append(line)
    cut_off = not text.endswith(b"\n")
    return {
        rank: b"\n".join(of_rank) + (b"" if cut_off and text.endswith(of_rank[-1]) else b"\n")
        for rank, of_rank in lines.items()
    }

"""Reads a log as pieces of whole lines, with what terminals and launchers add to them taken off.

A file is never held as a whole, however large it or one of its lines is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Iterator, Mapping

PIECE = 1 << 20
LONGEST_LINE = 1 << 20

_COLOURS = re.compile(rb"\x1b(?:\[[0-9;?]{0,16}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])")
_SRUN = re.compile(rb"^ {0,4}(\d{1,6}): ?(.*)$", re.MULTILINE)
_MPIRUN = re.compile(rb"^\[(?:\d{1,6},)?(\d{1,6})\]<std(?:out|err)>:(.*)$", re.MULTILINE)
_LAUNCHERS = (_SRUN, _MPIRUN)
_LOOKED_AT = 50  # lines


@dataclass
class LogFile:
    """`remarks` says, once the log is read, what of it could not be used."""

    path: Path
    remarks: list[str] = field(default_factory=list)

    def head(self, size: int = 1 << 18) -> bytes:
        """Its first lines, without ranks."""
        with self.path.open("rb") as file:
            text = plain(file.read(size))
        launcher = launcher_prefix(text)
        return text if launcher is None else b"".join(by_rank(text, launcher).values())

    def tail(self, size: int = 1 << 16) -> str:
        with self.path.open("rb") as file:
            file.seek(max(0, self.path.stat().st_size - size))
            return plain(file.read(size)).decode(errors="replace")

    def pieces(self, size: int | None = None) -> Iterator[Mapping[int | None, bytes]]:
        """Whole lines by the rank that the launcher names, or all under None."""
        with self.path.open("rb") as file:
            launcher: re.Pattern[bytes] | None = None
            for number, text in enumerate(self._lines(file, size or PIECE)):
                if number == 0:
                    launcher = launcher_prefix(text)
                yield {None: text} if launcher is None else by_rank(text, launcher)

    def _lines(self, file: BinaryIO, size: int) -> Iterator[bytes]:
        """Pieces that end where a line does; the last may lack its end, and what stands there is cut off."""
        left = b""
        skipping = False  # inside a line that is too long
        while piece := file.read(size):
            text = plain(left + piece)
            end = text.rfind(b"\n") + 1
            begin = text.find(b"\n") + 1 if skipping else 0
            if end > begin:
                yield text[begin:end]
            skipping = skipping and not end
            left = b"" if skipping else text[end:]
            if len(left) > LONGEST_LINE:
                self.remarks.append(f"A line of more than {LONGEST_LINE >> 20} MB was left out.")
                skipping, left = True, b""
        if left:
            yield left


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
    """What `srun -l`, `mpirun --tag-output` or `horovodrun` put before each line, if nearly all first lines have it."""
    lines = [line for line in text[: 1 << 16].split(b"\n", 4 * _LOOKED_AT)[:-1] if line.strip()][:_LOOKED_AT]
    for launcher in _LAUNCHERS:
        if lines and sum(launcher.match(line) is not None for line in lines) >= 0.9 * len(lines):
            return launcher
    return None


def by_rank(text: bytes, launcher: re.Pattern[bytes]) -> dict[int | None, bytes]:
    lines: dict[int | None, list[bytes]] = {}
    for rank, line in launcher.findall(text):
        lines.setdefault(int(rank), []).append(line)
    cut_off = not text.endswith(b"\n")
    return {
        rank: b"\n".join(of_rank) + (b"" if cut_off and text.endswith(of_rank[-1]) else b"\n")
        for rank, of_rank in lines.items()
    }

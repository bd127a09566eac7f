"""The whole of a log that is not one plain file: packed with gzip, or rotated into several files.

`logrotate` and its like rename train.log to train.log.1 before they begin a new train.log, so that the one with the
highest number is the oldest. Such a log is put together in a temporary file, where it can be read from either end.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
import zlib
from pathlib import Path
from typing import BinaryIO, Iterator, Sequence

PACKED = ".gz"
_LARGEST = 4 << 30  # bytes, unpacked: a small file may hold any number of zeros
_PIECE = 1 << 20
_MOST_PARTS = 999
_MAGIC = b"\x1f\x8b\x08"
_ROTATED = re.compile(r"(?P<name>.+\.(?:log|out|txt|err))\.(?P<number>[1-9]\d{0,2})(?:\.gz)?")


def open_log(path: Path) -> BinaryIO:
    """What was a file when the tree was looked through may be a pipe by now, which nobody may ever write to."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "It is no file", str(path))
    return os.fdopen(handle, "rb")


def rotated_from(path: Path) -> Path | None:
    """The log that this file is an older part of, by its name."""
    match = _ROTATED.fullmatch(path.name)
    return path.with_name(match["name"]) if match else None


def parts_of(path: Path) -> Sequence[Path]:
    """The oldest first."""
    older: list[Path] = []
    while len(older) < _MOST_PARTS:
        names = [f"{path.name}.{len(older) + 1}{packed}" for packed in ("", PACKED)]
        part = next((one for name in names if (one := path.with_name(name)).is_file() and not one.is_symlink()), None)
        if part is None or _ROTATED.fullmatch(part.name) is None:
            break
        older.append(part)
    return [*reversed(older), path]


def open_whole(path: Path) -> BinaryIO:
    parts = parts_of(path)
    file = open_log(path)
    is_packed = file.read(len(_MAGIC)) == _MAGIC
    file.seek(0)
    if len(parts) == 1 and not is_packed:
        return file
    file.close()
    whole = tempfile.TemporaryFile()  # noqa: SIM115  # whoever called closes it
    try:
        for part in parts:
            _append(part, whole)
    except BaseException:
        whole.close()
        raise
    whole.seek(0)
    return whole


def unpacked_size(path: Path) -> int:
    """As a packed file names it at its end; with the older parts."""
    return sum(_unpacked_size(part) for part in parts_of(path))


def _unpacked_size(path: Path) -> int:
    with open_log(path) as file:
        is_packed = file.read(len(_MAGIC)) == _MAGIC
        size = file.seek(0, os.SEEK_END)
        if not is_packed or size < 4:
            return size
        file.seek(-4, os.SEEK_END)
        return int.from_bytes(file.read(4), "little")


def _append(path: Path, whole: BinaryIO) -> None:
    with open_log(path) as file:
        is_packed = file.read(len(_MAGIC)) == _MAGIC
        file.seek(0)
        if not is_packed:
            shutil.copyfileobj(file, whole, _PIECE)
            return
        for piece in _unpacked(file):
            whole.write(piece)
            if whole.tell() > _LARGEST:
                raise OSError(errno.EFBIG, f"Unpacked it is larger than {_LARGEST >> 20} MB", str(path))


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    """What is there of a file that is cut short or damaged, as of a log that is not packed."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    text = b""
    while text or (text := file.read(_PIECE)):
        try:
            yield unpacker.decompress(text, _PIECE)
        except zlib.error:
            return
        text = unpacker.unconsumed_tail
        if unpacker.eof:  # several such files in one are one text
            text, unpacker = unpacker.unused_data, zlib.decompressobj(zlib.MAX_WBITS | 16)

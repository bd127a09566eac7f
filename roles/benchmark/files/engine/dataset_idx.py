"""Images and labels in the format of MNIST, IDX: a header of big-endian numbers, then a byte per pixel or label."""

from __future__ import annotations

import gzip
import hashlib
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

PARTS = ("train", "t10k")
IMAGES, LABELS = 0x803, 0x801
_CHUNK = 1 << 20
_TITLES = {IMAGES: "images", LABELS: "labels"}


@dataclass(frozen=True)
class _Part:
    count: int
    sizes: tuple[int, ...]
    digest: str


class _WrongError(Exception):
    """What is wrong with a file, as a sentence."""


def check_idx(folder: Path) -> tuple[dict[str, Any] | None, list[str]]:
    parts: dict[str, _Part] = {}
    problems = []
    for part in PARTS:
        for magic, name in ((IMAGES, f"{part}-images-idx3-ubyte"), (LABELS, f"{part}-labels-idx1-ubyte")):
            try:
                parts[f"{part} {_TITLES[magic]}"] = _read(_found(folder, name), magic)
            except _WrongError as error:
                problems.append(str(error))
    for part in PARTS:
        images, labels = parts.get(f"{part} images"), parts.get(f"{part} labels")
        if images and labels and images.count != labels.count:
            problems.append(f"{folder}/{part}-* has {images.count} images and {labels.count} labels.")
    sizes = {part.sizes for part in parts.values() if part.sizes}
    if len(sizes) > 1:
        shapes = " and ".join("x".join(map(str, size)) for size in sorted(sizes))
        problems.append(f"The images of {folder} have different sizes in its two parts: {shapes}.")
    if problems:
        return None, problems
    digests = hashlib.sha256("".join(part.digest for part in parts.values()).encode()).hexdigest()
    counts = {part: parts[f"{part} images"].count for part in PARTS}
    return {**counts, "size": list(parts["train images"].sizes), "content": digests[:16]}, []


def _found(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise _WrongError(f"{folder} has no {name} (or .gz).")


def _read(path: Path, magic: int) -> _Part:
    """Reads all of it: whether it is whole shows nowhere else, and it is not large."""
    try:
        with _opened(path) as file:
            return _content(path, file, magic)
    except (EOFError, zlib.error):
        raise _WrongError(f"{path} is a compressed file that is cut off or damaged.") from None
    except gzip.BadGzipFile:
        raise _WrongError(f"{path} is not a compressed file, and its name says so.") from None


def _opened(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _content(path: Path, file: IO[bytes], magic: int) -> _Part:
    dimensions = magic & 0xFF
    header = file.read(4 + 4 * dimensions)
    begin = int.from_bytes(header[:4], "big")
    if len(header) < 4 + 4 * dimensions or begin != magic:
        said = f"begins with 0x{begin:03x}" if len(header) >= 4 else f"holds {len(header)} bytes"
        raise _WrongError(f"{path} {said}, and a file of {_TITLES[magic]} begins with 0x{magic:03x}.")
    count, *sizes = struct.unpack(f">{dimensions}I", header[4:])
    each = 1
    for size in sizes:
        each *= size
    if not count or not each:
        raise _WrongError(f"{path} says that it has no {_TITLES[magic]}.")
    held, digest = 0, hashlib.sha256()
    while held <= count * each:  # what is compressed may go on for long
        chunk = file.read(_CHUNK)
        if not chunk:
            break
        held += len(chunk)
        digest.update(chunk)
    if held < count * each:
        raise _WrongError(f"{path} says {count} {_TITLES[magic]}, and holds {held // each}: it is cut off.")
    if held > count * each:
        raise _WrongError(f"{path} says {count} {_TITLES[magic]}, and holds more: it was not written to its end.")
    return _Part(count, tuple(sizes), digest.hexdigest())

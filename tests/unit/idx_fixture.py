"""Files in the format of MNIST, small ones."""

from __future__ import annotations

import gzip
import math
import struct


def idx(count, sizes=(), values=None, magic=None):
    magic = (0x803 if sizes else 0x801) if magic is None else magic
    held = bytes(count * math.prod(sizes)) if values is None else values
    return struct.pack(f">{2 + len(sizes)}I", magic, count, *sizes) + held


def packed(content):
    """The same at any time of day."""
    return gzip.compress(content, mtime=0)


def write_mnist(folder, train=6, test=2, size=(28, 28)):
    """Image i is of the brightness i, and of the class i modulo 10; labels are compressed, images are not."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", train), ("t10k", test)):
        pixels = b"".join(bytes([number % 256]) * math.prod(size) for number in range(count))
        labels = bytes(number % 10 for number in range(count))
        (folder / f"{part}-images-idx3-ubyte").write_bytes(idx(count, size, pixels))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(packed(idx(count, values=labels)))
    return folder

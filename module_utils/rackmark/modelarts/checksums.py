"""MD5 as object stores use it: to notice damage, not as a guard against anybody."""

from __future__ import annotations

import hashlib
from pathlib import Path

MD5_LENGTH = 32
_STEP = 1 << 20


def md5_of(path: Path, offset: int = 0, size: int | None = None) -> bytes:
    """Of a file, or of a part of it."""
    digest, left = hashlib.md5(usedforsecurity=False), path.stat().st_size if size is None else size
    with path.open("rb") as file:
        file.seek(offset)
        while left and (chunk := file.read(min(_STEP, left))):
            digest.update(chunk)
            left -= len(chunk)
    return digest.digest()


def md5_of_parts(parts: list[bytes]) -> str:
    """What stores show of an object that was sent in parts with these checksums."""
    return f"{hashlib.md5(b''.join(parts), usedforsecurity=False).hexdigest()}-{len(parts)}"

"""Dialects: one function per log format, from the text of a rank's log to its samples."""

from __future__ import annotations

from typing import Callable, Mapping

from . import rackmark
from .sample import RankLog, Sample

__all__ = ["RankLog", "Reader", "Sample", "reader"]

Reader = Callable[[str], RankLog]

_READERS: Mapping[str, Reader] = {"rackmark": rackmark.read}


def reader(dialect: str) -> Reader:
    if dialect not in _READERS:
        raise ValueError(f"There is no log dialect {dialect!r}: the known ones are {', '.join(sorted(_READERS))}.")
    return _READERS[dialect]

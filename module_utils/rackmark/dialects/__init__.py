"""Dialects: one function per log format, from the text of a rank's log to its samples."""

from __future__ import annotations

from typing import Callable, Mapping

from . import mindspore, rackmark
from .sample import Evaluation, RankLog, Sample

__all__ = ["Evaluation", "RankLog", "Reader", "Sample", "reader"]

Reader = Callable[[str], RankLog]

_READERS: Mapping[str, Reader] = {"mindspore": mindspore.read, "rackmark": rackmark.read}


def reader(dialect: str) -> Reader:
    if dialect not in _READERS:
        raise ValueError(f"There is no log dialect {dialect!r}: the known ones are {', '.join(sorted(_READERS))}.")
    return _READERS[dialect]

"""Reads many logs on all cores."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from typing import Callable, Sequence, TypeVar

from .log_file import keep_freed_memory

_SMALL = 8 << 20  # bytes that one process reads before another has started
_OF_A_LOG = 1 << 18  # bytes that are read in the time that it takes to open a log and to know its dialect

_Log = TypeVar("_Log")
_Read = TypeVar("_Read")


def read_all(
    read: Callable[[_Log], _Read],
    logs: Sequence[_Log],
    sizes: Sequence[int],
    meanwhile: Callable[[], None] | None = None,
) -> list[_Read]:
    """In the order of the logs; the largest are begun first. `meanwhile` is done while other processes read."""
    keep_freed_memory()
    workers = min(os.cpu_count() or 1, len(logs))
    if workers <= 1 or sum(sizes) + len(sizes) * _OF_A_LOG < _SMALL:
        return [read(log) for log in logs]
    largest_first = sorted(range(len(logs)), key=lambda place: -sizes[place])
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
        found = pool.map(read, (logs[place] for place in largest_first), chunksize=1 + len(logs) // 1000)
        if meanwhile is not None:
            meanwhile()
        by_place = dict(zip(largest_first, found))
    return [by_place[place] for place in range(len(logs))]

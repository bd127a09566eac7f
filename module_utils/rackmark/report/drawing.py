"""Draws several pictures at once."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from typing import Callable, Sequence

Draw = Callable[[], bytes]

_waiting: Sequence[Draw] = ()


def draw_all(draw: Sequence[Draw]) -> list[bytes]:
    """Each on a core of its own, as far as there are any: a picture takes longer than to begin a process."""
    workers = min(os.cpu_count() or 1, len(draw))
    if workers <= 1:
        return [one() for one in draw]
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork"), _be_given, (draw,)) as pool:
        return list(pool.map(_draw, range(len(draw))))


def _be_given(draw: Sequence[Draw]) -> None:
    """What a process is forked with need not be packed and unpacked."""
    global _waiting
    _waiting = draw


def _draw(number: int) -> bytes:
    return _waiting[number]()

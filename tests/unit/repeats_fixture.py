"""Repeats by chance, as clusters give them, to see how often an interval holds what it is for."""

from __future__ import annotations

import random
from functools import partial
from typing import Callable, Mapping

from rackmark.numbers import estimates


def _noise(spread: float, seed: int) -> Callable[[], float]:
    return partial(random.Random(seed).lognormvariate, 0, spread)


def _slow_tail(seed: int) -> Callable[[], float]:
    """Every fifth repeat is 1.3 to 2 times slower than the others."""
    chance = random.Random(seed)
    return lambda: chance.lognormvariate(0, 0.01) / (chance.uniform(1.3, 2) if chance.random() < 0.2 else 1)


KINDS: Mapping[str, Callable[[int], Callable[[], float]]] = {
    **{f"{percent} %": partial(_noise, percent / 100) for percent in (1, 10, 30)},
    "slow tail": _slow_tail,
}


def held(kind: str, counts: tuple[int, int], trials: int) -> float:
    """How many of 100 intervals hold 1: both sides measure the same. Some pairs have none: two repeats far apart."""
    chance = KINDS[kind](1000 * counts[0] + counts[1])
    pairs = ([[chance() for _ in range(count)] for count in counts] for _ in range(trials))
    intervals = [found for found in (estimates.ratio_interval(*pair) for pair in pairs) if found]
    return 100 * sum(low <= 1 <= high for low, high in intervals) / len(intervals)

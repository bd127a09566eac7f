"""What explains failed pings: the smallest thing that failed as a whole, a pair, a device, a node or a network.

Of all things that no successful ping speaks against, the one that explains most of the failures comes first; of two
that explain the same, the smaller one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, NamedTuple

import numpy as np
import numpy.typing as npt

from ..node.device_pings import LOST, REACHED
from .matrix import Matrix

MOST = 20  # sentences; what is left is counted

PAIR, ONE_WAY, BOTH, INTO, OUT_OF, INSIDE = "pair", "one_way", "both", "into", "out_of", "inside"
Counts = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.bool_]


class Explanation(NamedTuple):
    """`level` is device, node, network, number or all; `one` and `other` count those. It explains so many `pairs`."""

    level: str
    kind: str
    within: bool  # pairs within a node count, too
    one: int
    other: int
    pairs: int


@dataclass(frozen=True)
class _Level:
    """A way to look at the matrix: devices, or groups of them, with or without the pairs within nodes."""

    name: str
    kinds: tuple[str, ...]
    within: bool
    groups: npt.NDArray[np.intp]
    scope: Chosen

    def counted(self, chosen: Chosen) -> Counts:
        """Pairs by their groups."""
        count = int(self.groups.max()) + 1
        together = self.groups[:, None] * count + self.groups[None, :]
        return np.bincount(together[chosen & self.scope], minlength=count * count).reshape(count, count)

    def pairs_of(self, found: Explanation) -> Chosen:
        row, column = self.groups[:, None], self.groups[None, :]
        one, other = found.one, found.other
        chosen: Chosen = {
            PAIR: ((row == one) & (column == other)) | ((row == other) & (column == one)),
            ONE_WAY: (row == one) & (column == other),
            INSIDE: (row == one) & (column == one),
            OUT_OF: row == one,
            INTO: column == one,
            BOTH: (row == one) | (column == one),
        }[found.kind]
        found_there: Chosen = chosen & self.scope
        return found_there


def explanations(matrix: Matrix) -> tuple[list[Explanation], int]:
    """The first ones, and how many failed pairs they leave over."""
    levels = list(_levels(matrix))
    reached, left = matrix.marks == REACHED, matrix.marks == LOST
    spoken_against = [level.counted(reached) for level in levels]
    found: list[Explanation] = []
    while left.any() and len(found) < MOST:
        candidates = [
            (candidate.pairs, -rank, number, candidate)
            for number, (level, good) in enumerate(zip(levels, spoken_against))
            for rank, candidate in _candidates(level, number, good, level.counted(left))
        ]
        *_, number, best = max(candidates)
        found.append(best)
        left = left & ~levels[number].pairs_of(best)
    return found, int(np.count_nonzero(left))


def _levels(matrix: Matrix) -> Iterator[_Level]:
    """The smallest first."""
    nodes, networks = matrix.groups("node"), matrix.groups("network")
    every = np.ones_like(matrix.marks, dtype=bool)
    between = nodes[:, None] != nodes[None, :]
    devices = np.arange(len(nodes))
    yield _Level("device", (PAIR, ONE_WAY, BOTH, INTO, OUT_OF), True, devices, every)
    yield _Level("device", (BOTH, INTO, OUT_OF), False, devices, between)
    yield _Level("node", (PAIR, ONE_WAY, BOTH, INTO, OUT_OF), False, nodes, between)
    yield _Level("node", (INSIDE, BOTH), True, nodes, every)
    yield _Level("network", (INSIDE, PAIR, ONE_WAY, BOTH), False, networks, between)
    yield _Level("number", (INSIDE,), False, matrix.groups("number"), between)
    everything = np.zeros_like(nodes)
    yield _Level("all", (INSIDE,), False, everything, between)
    yield _Level("all", (INSIDE,), True, everything, every)


def _candidates(level: _Level, number: int, good: Counts, bad: Counts) -> Iterator[tuple[int, Explanation]]:
    """The best of each kind, with its rank among all kinds of all levels."""
    for place, kind in enumerate(level.kinds):
        explained = np.where(_gathered(kind, good) == 0, _gathered(kind, bad), 0)
        one, other = (int(index) for index in np.unravel_index(int(explained.argmax()), explained.shape))
        if explained[one, other]:
            pairs = int(explained[one, other])
            yield number * 10 + place, Explanation(level.name, kind, level.within, one, other, pairs)


def _gathered(kind: str, counts: Counts) -> Counts:
    """As a matrix, of which the column says nothing for kinds of one thing."""
    inside = np.diagonal(counts)[:, None]
    out_of, into = counts.sum(axis=1)[:, None], counts.sum(axis=0)[:, None]
    if kind == PAIR:
        both_ways: Counts = np.triu(counts + counts.T, 1)
        return both_ways
    if kind == ONE_WAY:
        return counts - np.diag(np.diagonal(counts))
    gathered: Counts = {INSIDE: inside, OUT_OF: out_of, INTO: into, BOTH: out_of + into - inside}[kind]
    return gathered

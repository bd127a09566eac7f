"""Which rank or node takes longer for its steps than the others, of those that do not wait for each other.

Noise comes and goes, a straggler is slow all the time: the steps of every repeat are cut into stretches, and it has to
be slower than the others in most of them.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import Hashable, Mapping, NamedTuple, Sequence, TypeVar

from ..judging.result import Judged
from .odd_one_out import DEVIATIONS_IN_MAD

SLOWER = 0.05  # less is no news
_MOST_OF_THEM = 0.75  # of the stretches
_DEVIATIONS = 3  # robust standard deviations of the others
_STEPS, _STRETCHES = 5, 4  # the fewest of a stretch, and the most stretches of a repeat
_FEWEST = 2  # stretches: with fewer, nobody can tell noise from slowness

_Name = TypeVar("_Name", bound=Hashable)


class _Rank(NamedTuple):
    number: int
    host: str | None

    def __str__(self) -> str:
        return f"rank {self.number}" + (f" on {self.host}" if self.host else "")


def stragglers(repeats: Sequence[Judged]) -> list[str]:
    """Of the ok repeats of one case. Ranks of a slow node are not named again."""
    stretches = [stretch for repeat in repeats for stretch in _stretches(repeat)]
    of_nodes = [_by_node(stretch) for stretch in stretches]
    several = any(len(stretch) > len(nodes) for stretch, nodes in zip(stretches, of_nodes))
    slow_nodes = slow_ones(of_nodes) if several else {}
    others = [{rank: took for rank, took in stretch.items() if rank.host not in slow_nodes} for stretch in stretches]
    found = {**slow_nodes, **{str(rank): slower for rank, slower in sorted(slow_ones(others).items())}}
    return [f"has a straggler: {name} takes {slower * 100:.0f} % longer for a step" for name, slower in found.items()]


def slow_ones(stretches: Sequence[Mapping[_Name, float]]) -> dict[_Name, float]:
    """By how much slower than the median of the others; each stretch has the seconds of a step by name."""
    relative: dict[_Name, list[float]] = defaultdict(list)
    for stretch in stretches:
        middle = median(stretch.values()) if len(stretch) > 1 else 0.0
        for name, took in stretch.items() if middle > 0 else ():
            relative[name].append(took / middle)
    typical = {name: median(values) for name, values in relative.items() if len(values) >= _FEWEST}
    found = {}
    for name, value in typical.items():
        if value > 1 + SLOWER / 3:  # of two, the middle lies between them
            slower = _slower(name, stretches, [other for key, other in typical.items() if key != name])
            if slower is not None:
                found[name] = slower
    return found


def _slower(name: _Name, stretches: Sequence[Mapping[_Name, float]], others: Sequence[float]) -> float | None:
    by_stretch = [
        stretch[name] / median(took for other, took in stretch.items() if other != name) - 1
        for stretch in stretches
        if name in stretch and len(stretch) > 1
    ]
    slower = median(by_stretch)
    often = sum(one > SLOWER for one in by_stretch) / len(by_stretch)
    middle = median(others) if others else 1.0
    spread = median(abs(other - middle) for other in others) * DEVIATIONS_IN_MAD if others else 0.0
    stands_out = slower > max(SLOWER, _DEVIATIONS * spread / middle)
    return slower if stands_out and often >= _MOST_OF_THEM else None


def _stretches(repeat: Judged) -> list[dict[_Rank, float]]:
    """The median of the steps of each: hiccups are not slowness."""
    hosts = {log.facts.get("rank"): log.facts.get("host") for log in repeat.logs}
    steps = {
        _Rank(number, hosts.get(number)): rank.step_seconds
        for number, rank in repeat.ranks.items()
        if number is not None and len(rank.step_seconds)
    }
    fewest = min(map(len, steps.values()), default=0)
    count = min(_STRETCHES, fewest // _STEPS)
    return [
        {
            rank: median(seconds[part * len(seconds) // count : (part + 1) * len(seconds) // count])
            for rank, seconds in steps.items()
        }
        for part in range(count)
    ]


def _by_node(stretch: Mapping[_Rank, float]) -> dict[str, float]:
    nodes: dict[str, list[float]] = defaultdict(list)
    for rank, took in stretch.items():
        if rank.host is not None:
            nodes[rank.host].append(took)
    return {host: median(times) for host, times in nodes.items()}

"""The next network of a worker: drawn among children of good ones, ranked by the surrogate, reserved for it alone."""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass
from typing import Callable, Iterable, Sequence

from graph import Graph
from morphs import Morph, morphed, propose
from rackmark.automl.trials import Trial, Trials, is_start
from surrogate import known_networks, upper_bounds

CANDIDATES = 16
TEMPERATURE = 0.02  # a father whose accuracy is so much lower is drawn 1/e times as often
FATHERS_PER_WORKER = 3
_FEWEST_FATHERS = 16
_LEAST_WEIGHT = 1e-3  # of any father, so that its turn comes once the better ones give no more, see _Draw
_PROPOSALS = 3  # for each morph, as some would make the network too large
_DRAWS = 2 * CANDIDATES
_ROUNDS = 8  # each with one more morph than the one before


class NoNetworkError(RuntimeError):
    """There is none left, as a sentence."""


@dataclass(frozen=True)
class Rules:
    """What a network may be: at most `max_growth` times the start network, in operations and in weights."""

    operations: Sequence[str]
    max_growth: float
    kernel_sizes: Sequence[int]
    workers: int


@dataclass(frozen=True)
class Candidate:
    """`father` is the number of a trial, None is the start network; `bound` what its accuracy may be at best.

    `graph` has the kernel size of the new trial, which may be larger than what father and morphs give.
    """

    father: int | None
    morphs: tuple[Morph, ...]
    graph: Graph
    digest: str
    bound: float = 0.0


def next_network(
    trials: Trials,
    graphs: Callable[[int], Graph | None],
    start: Graph,
    rules: Rules,
    rng: random.Random,
    take: Callable[[str], bool],
) -> Candidate:
    """`graphs` gives the network of a trial, None if its weights are gone; `take` reserves a digest or says no.

    The same trials and the same `rng` give the same network.
    """
    draw = _Draw(trials, graphs, start, rules, rng)
    refused: set[str] = {trial.digest for trial in trials if trial.digest}
    for more in range(_ROUNDS):
        candidates = draw.candidates(more, refused)
        for candidate in _ranked(candidates, trials):
            if take(candidate.digest):
                return candidate
            refused.add(candidate.digest)
    raise NoNetworkError(
        f"{_ROUNDS * _DRAWS} draws gave no network that is new and at most max_growth={rules.max_growth:g} times the "
        f"start network: raise max_growth, or allow more operations than {', '.join(rules.operations)}."
    )


def fathers(trials: Iterable[Trial], workers: int) -> list[Trial]:
    """The best that may have children, the best first, and the start network, which has room to grow: their weights
    have to be kept.
    """
    able = [trial for trial in trials if trial.state in ("ok", "stopped") and trial.accuracy is not None]
    most = max(_FEWEST_FATHERS, FATHERS_PER_WORKER * workers)
    found = heapq.nsmallest(most, able, key=_worse)
    start = min((trial for trial in able if is_start(trial)), key=_worse, default=None)
    return found if start is None or start in found else [*found, start]


def _worse(trial: Trial) -> tuple[float, int]:
    return -(trial.accuracy or 0.0), trial.seq


class _Draw:
    """Draws children of good fathers. One that gives no new network is drawn ever more seldom: it may have grown as far
    as it is allowed to. A father whose network cannot be had any more is left out.
    """

    def __init__(
        self,
        trials: Trials,
        graphs: Callable[[int], Graph | None],
        start: Graph,
        rules: Rules,
        rng: random.Random,
    ) -> None:
        self._graphs = graphs
        self._rules = rules
        self._start = start
        self._rng = rng
        self._known: dict[int, Graph] = {}
        found = fathers(trials, rules.workers)
        best = found[0].accuracy or 0.0 if found else 0.0
        self._weights: dict[int, float] = {
            trial.seq: max(_LEAST_WEIGHT, math.exp(((trial.accuracy or 0.0) - best) / TEMPERATURE))
            / (1 + trials.children[trial.seq])
            for trial in found
        }

    def candidates(self, more: int, refused: set[str]) -> list[Candidate]:
        """As many different ones as are wanted, or as there are after many draws."""
        found: dict[str, Candidate] = {}
        for _ in range(_DRAWS):
            father, graph = self._father()
            child = self._child(father, graph, self._rng.randint(1 + more, 2 + more))
            if child is not None and child.digest not in refused:
                found.setdefault(child.digest, child)
            elif father is not None:
                self._weights[father] /= 8
            if len(found) == CANDIDATES:
                break
        return list(found.values())

    def _child(self, father: int | None, graph: Graph, count: int) -> Candidate | None:
        """With so many morphs, or as many as it may grow by."""
        kernel = graph.with_kernel(self._rng.choice(self._rules.kernel_sizes))
        if self._is_allowed(kernel):
            graph = kernel
        morphs: list[Morph] = []
        for _ in range(_PROPOSALS * count):
            morph = propose(graph, self._rng, self._rules.operations)
            larger = None if morph is None else morphed(graph, morph)
            if morph is not None and larger is not None and self._is_allowed(larger):
                graph = larger
                morphs.append(morph)
            if len(morphs) == count:
                break
        return Candidate(father, tuple(morphs), graph, graph.digest()) if morphs else None

    def _father(self) -> tuple[int | None, Graph]:
        while self._weights:
            (seq,) = self._rng.choices(list(self._weights), list(self._weights.values()))
            graph = self._known.get(seq) or self._graphs(seq)
            if graph is not None:
                self._known[seq] = graph
                return seq, graph
            del self._weights[seq]
        return None, self._start

    def _is_allowed(self, graph: Graph) -> bool:
        most = self._rules.max_growth
        few = graph.parameters <= most * self._start.parameters
        return few and graph.flops.training <= most * self._start.flops.training


def _ranked(candidates: Sequence[Candidate], trials: Trials) -> list[Candidate]:
    if not candidates:
        return []
    bounds = upper_bounds(known_networks(trials), [candidate.graph.features() for candidate in candidates])
    ranked = [
        Candidate(each.father, each.morphs, each.graph, each.digest, bound) for each, bound in zip(candidates, bounds)
    ]
    return sorted(ranked, key=lambda each: -each.bound)

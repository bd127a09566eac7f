"""The next network of a worker: drawn among children of good ones, ranked by the surrogate, reserved for it alone."""

from __future__ import annotations

import contextlib
import heapq
import math
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Sequence

from graph import Graph
from morphs import Morph, morphed, propose
from rackmark.automl.trials import Trial, Trials
from surrogate import known_networks, upper_bounds

CANDIDATES = 16
TEMPERATURE = 0.02  # a father whose accuracy is so much lower is drawn 1/e times as often
FATHERS_PER_WORKER = 3
_DRAWS = 8 * CANDIDATES
_ROUNDS = 5  # each with one more morph than the one before
_FOLDER = "architectures"


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
    """The best that may have children: their weights have to be kept."""
    able = (trial for trial in trials if trial.state in ("ok", "stopped") and trial.accuracy is not None)
    return heapq.nsmallest(FATHERS_PER_WORKER * workers, able, key=lambda trial: (-(trial.accuracy or 0.0), trial.seq))


def reserve(experiment: Path, digest: str, seq: int) -> bool:
    """Whether the network is this trial's: nobody else in the whole search can have it. Asking again is no harm."""
    path = experiment / _FOLDER / digest[:2] / digest
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        return path.read_bytes() == str(seq).encode()
    try:
        os.write(file, str(seq).encode())
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(file)
    return True


class _Draw:
    """Draws children of good fathers; a father whose network cannot be had any more is left out."""

    def __init__(
        self,
        trials: Trials,
        graphs: Callable[[int], Graph | None],
        start: Graph,
        rules: Rules,
        rng: random.Random,
    ) -> None:
        self._graphs = graphs
        self._start = start
        self._rules = rules
        self._rng = rng
        self._known: dict[int, Graph] = {}
        found = fathers(trials, rules.workers)
        best = found[0].accuracy or 0.0 if found else 0.0
        self._weights = {
            trial.seq: math.exp(((trial.accuracy or 0.0) - best) / TEMPERATURE) / (1 + trials.children[trial.seq])
            for trial in found
        }

    def candidates(self, more: int, refused: set[str]) -> list[Candidate]:
        """As many different ones as are wanted, or as there are after many draws."""
        found: dict[str, Candidate] = {}
        for _ in range(_DRAWS):
            child = self._child(self._rng.randint(1 + more, 2 + more))
            if child is not None and child.digest not in refused:
                found.setdefault(child.digest, child)
            if len(found) == CANDIDATES:
                break
        return list(found.values())

    def _child(self, count: int) -> Candidate | None:
        father, graph = self._father()
        morphs: list[Morph] = []
        for _ in range(count):
            morph = propose(graph, self._rng, self._rules.operations)
            if morph is None:
                break
            graph = morphed(graph, morph)
            morphs.append(morph)
        if not morphs:
            return None
        graph = graph.with_kernel(self._rng.choice(self._rules.kernel_sizes))
        if not self._is_allowed(graph):
            return None
        return Candidate(father, tuple(morphs), graph, graph.digest())

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

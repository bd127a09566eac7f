"""Makes the next network of a worker, with its weights, in a process that gives way to training."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping

import torch
from candidates import Candidate, NoNetworkError, Rules, next_network
from experiment_files import trial_name
from forked import Group, Report
from graph import Graph
from inheritance import fits_weights, inherited
from network import Network
from rackmark.automl.reservation import reserve
from rackmark.automl.trials import Trials
from room import with_room
from settings_search import draw
from trial import Surroundings
from weight_files import Handed, Weights, load_weights, weights_file

_SEEN = 32  # images that new normalizations are set by
_NICENESS = 5  # on a slice of a processor it is through before the trial is; at 19 it would not be
_TRIES = 5


@dataclass(frozen=True)
class Offspring:
    """A network for a trial, and what its record says of it. `model` is the graph as JSON; `seq` is the trial's."""

    seq: int
    father: int | None
    morphs: list[str]
    model: Mapping[str, Any]
    digest: str
    hyperparameter: Mapping[str, Any]
    flops: Mapping[str, float]
    layers: int
    params: int
    features: list[float]

    def record(self) -> dict[str, Any]:
        """What the history keeps of it."""
        return {name: value for name, value in vars(self).items() if name not in ("seq", "model")}


class Making:
    """An offspring that is being made. `pipe` is to be waited for."""

    def __init__(self, make: Callable[[Report, Handed], None]) -> None:
        self._weights = Handed()
        self._group = Group([lambda report: make(report, self._weights)], _NICENESS)
        self._said: dict[str, Any] = {}
        self.pipe = self._group.pipe

    def look(self) -> bool:
        """Whether it has ended."""
        for said in self._group.read():
            self._said.update(said)
        return self._group.ended

    def result(self) -> tuple[Offspring, Handed | None] | None:
        """None if it failed, or was not at its end."""
        self.end()
        if not self._said or self.none_left:
            return None
        inherits = self._said.pop("inherits")
        return Offspring(**self._said), self._weights if inherits else None

    @property
    def none_left(self) -> str | None:
        """Why there is no further network, as a sentence."""
        return self._said.get("none_left")

    def end(self) -> None:
        self._group.close()


class Offsprings:
    """`trials` is kept up to date by the worker; `batch` is that of the start network's first training."""

    def __init__(self, around: Surroundings, start: Graph, rules: Rules, trials: Trials, batch: int | None) -> None:
        self._around, self._start, self._rules, self._trials, self._batch = around, start, rules, trials, batch

    def make(self, seq: int, attempt: int) -> Making:
        """The start network is what each worker begins with."""
        if seq < self._rules.workers:
            return Making(lambda report, handed: self._begin(seq, report, handed))
        return Making(lambda report, handed: self._make(seq, attempt, report, handed))

    def _begin(self, seq: int, report: Report, handed: Handed) -> None:
        settings = {
            "dropout_rate": 0.0,
            "kernel_size": self._start.kernel_size,
            "batch_size": self._batch or self._around.space.batch_size[0],
        }
        given = self._around.parameters.start_weights != "none"
        self._hand_over(
            Candidate(None, (), self._start, self._start.digest()),
            settings,
            self._start_weights(seq) if given else {},
            seq,
            report,
            handed,
        )

    def _make(self, seq: int, attempt: int, report: Report, handed: Handed) -> None:
        seed = f"{self._around.parameters.seed} {seq} {attempt}"
        for number in range(_TRIES):
            chance = random.Random(f"{seed} {number}")
            try:
                candidate = next_network(self._trials, self._graph, self._start, self._rules, chance, self._taking(seq))
            except NoNetworkError as error:
                report.say(none_left=str(error))
                return
            weights = self._weights(seq, candidate) if self._around.parameters.inherit else {}
            if weights is not None:
                break
        else:
            raise RuntimeError(f"The weights of {_TRIES} fathers were gone before they could be read.")
        settings = draw(chance, self._around.space, candidate.graph.kernel_size)
        self._hand_over(candidate, settings, weights, seq, report, handed)

    def _taking(self, seq: int) -> Any:  # noqa: ANN401
        return lambda digest: with_room(lambda: reserve(self._around.experiment, digest, seq))

    def _graph(self, seq: int) -> Graph | None:
        experiment = self._around.experiment
        if not weights_file(experiment, seq).exists():
            return None
        path = experiment / "hyperparameter_epoch" / trial_name(seq) / "model.json"
        return Graph.from_json(json.loads(path.read_text(encoding="utf-8")))

    def _weights(self, seq: int, candidate: Candidate) -> Weights | None:
        """None if the father's are gone."""
        around = self._around
        if candidate.father is None:
            father, weights = self._start, self._start_weights(seq)
        else:
            graph, found = self._graph(candidate.father), load_weights(around.experiment, candidate.father)
            if graph is None or found is None:
                return None
            father, weights = graph, found
        images, chance = around.data.train, (around.parameters.seed, seq)
        ((pixels, _),) = images.batches([images.order(chance, _SEEN)], chance)
        batch = around.data.on(torch.device("cpu"), pixels)
        child, carried = inherited(father, weights, candidate.morphs, batch, seq, candidate.graph.kernel_size)
        if child.digest() != candidate.digest:
            raise RuntimeError(f"The network {candidate.digest} became {child.digest()} with its weights.")
        return carried

    def _start_weights(self, seq: int) -> Weights:
        parameters = self._around.parameters
        torch.manual_seed(parameters.seed * 1_000_003 + seq)
        weights: Weights = Network(self._start).state_dict()
        if parameters.start_weights == "none":
            return weights
        given = torch.load(Path(parameters.start_weights), map_location="cpu", weights_only=True)
        fitting, skipped = fits_weights(self._start, given)
        for sentence in skipped:
            print(f"start_weights: {sentence}", flush=True)
        return {**weights, **fitting}

    @staticmethod
    def _hand_over(
        candidate: Candidate, settings: Mapping[str, Any], weights: Weights, seq: int, report: Report, handed: Handed
    ) -> None:
        if weights:
            handed.give(weights)
        graph = candidate.graph
        made = Offspring(
            seq,
            candidate.father,
            [morph.short for morph in candidate.morphs],
            graph.to_json(),
            candidate.digest,
            settings,
            vars(graph.flops),
            graph.layers,
            graph.parameters,
            [float(f"{feature:.6g}") for feature in graph.features()],
        )
        report.say(inherits=bool(weights), **vars(made))

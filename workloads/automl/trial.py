"""One trial, in processes of its own: a network trained once, or several times with other settings, and its files.

There is one process per device. The first one writes; what it says are `training` and `epoch` as each ends, and `done`.
Any may say `failed`, with a state and a reason.
"""

from __future__ import annotations

import os
import signal
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping

import devices
import torch
import torch.distributed
from accuracy_prediction import predicted
from data import Data
from experiment_files import TrainingFiles, TrialFiles
from forked import Report, leave
from graph import Graph
from network import Network
from parameters import Parameters, Space
from rackmark.automl.trials import Trial as Past
from ranks import Ranks
from settings_search import suggest
from training import DivergedError, Epoch, Plan, Training
from weight_files import Handed, save_weights

_TRAININGS_WITHOUT_GAIN = 3
_SEEDS_OF_A_TRIAL = 1000
_Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """What a trial trains. `model` is its graph as JSON; without `weights` it begins with random ones."""

    seq: int
    round_number: int
    model: Mapping[str, Any]
    hyperparameter: _Settings
    weights: Handed | None


@dataclass(frozen=True)
class Surroundings:
    """What is the same for all trials of a worker. `past` gives the trials so far, which settings are learned from."""

    experiment: Path
    data: Data
    parameters: Parameters
    space: Space
    device: str
    precision: str
    devices: int
    threads: int
    past: Callable[[], Iterable[Past]]


def run_rank(task: Task, around: Surroundings, deadline: float, rank: int, port: int, report: Report) -> None:
    try:
        _Trial(task, around, deadline, Ranks(rank, rank, around.devices), port, report).run()
    except Exception as error:
        if not isinstance(error, DivergedError):
            with suppress(OSError):
                traceback.print_exc()  # before it is said, upon which all processes of the trial are ended
        report.say(failed=_state_of(error), reason=_reason(error))
        leave(1)


def _state_of(error: Exception) -> str:
    if isinstance(error, DivergedError):
        return "diverged"
    text = str(error).lower()
    if isinstance(error, MemoryError) or "out of memory" in text or "allocate memory" in text:
        return "oom"
    return "crashed"


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    kind = "" if isinstance(error, DivergedError) else f"{type(error).__name__}: "
    return f"{kind}{lines[-1]}"[:300]


@dataclass
class _Done:
    """Of one training."""

    hyperparameter: _Settings
    accuracies: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        return max(self.accuracies, default=-1.0)


class _Trial:
    def __init__(
        self, task: Task, around: Surroundings, deadline: float, ranks: Ranks, port: int, report: Report
    ) -> None:
        self._task, self._around, self._deadline, self._ranks, self._report = task, around, deadline, ranks, report
        self._best = -1.0
        self._finishing = self._asked_to_end = False
        signal.signal(signal.SIGTERM, self._end)
        torch.set_num_threads(max(1, around.threads // around.devices))
        self._device = devices.choose(around.device, around.precision, ranks)
        devices.prepare(self._device, deterministic=False)
        if not ranks.alone:
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            os.environ.update(GLOO_SOCKET_IFNAME="lo", NCCL_SOCKET_IFNAME="lo")
            devices.join(ranks, self._device)
        self._graph = Graph.from_json(task.model)
        self._files = TrialFiles(around.experiment, task.seq) if ranks.rank == 0 else None
        self._done: list[_Done] = []

    def run(self) -> None:
        if self._files:
            self._files.begin(self._task.model)
        hyperparameter: _Settings | None = self._task.hyperparameter
        while hyperparameter is not None:
            try:
                self._train(hyperparameter)
            except DivergedError:
                if not any(done.accuracies for done in self._done[:-1]):
                    raise
                break  # the trial is worth what the trainings before were
            hyperparameter = self._next_settings()
        if self._files:
            best = max(self._done, key=lambda done: done.best)
            self._files.ended(best.hyperparameter, best.best)
            self._report.say(done=True, predicted=predicted(best.accuracies))
        if not self._ranks.alone:
            torch.distributed.barrier()
            leave(0)  # threads of Gloo would abort a process that is taken apart while they are at work

    def _train(self, hyperparameter: _Settings) -> None:
        number, round_number, around = len(self._done), self._task.round_number, self._around
        parameters = around.parameters
        done = _Done(hyperparameter)
        self._done.append(done)
        network = self._network(number, hyperparameter["dropout_rate"])
        plan = Plan(
            epochs=parameters.epochs_in(round_number),
            rate=parameters.learning_rate,
            patience=parameters.patience_in(round_number),
            smoothing=parameters.smooth_factor,
            batch=hyperparameter["batch_size"],
            train_images=parameters.train_images,
            eval_images=parameters.eval_images,
            precision=around.precision,
            seed=parameters.seed,
            draw=(self._task.seq, number),
        )
        training = Training(network, around.data, plan, self._ranks, self._device, self._report.beat)
        files = None
        if self._files:
            self._report.say(training=hyperparameter)
            files = self._files.training_begins(number, hyperparameter, time.time())

        def begins(epoch_number: int) -> None:
            if files:
                files.epoch_begins(epoch_number, plan.epochs, time.time())

        for epoch in training.epochs(begins):
            done.accuracies.append(epoch.val_accuracy)
            if files:
                self._finish(epoch, files, network)
        if files:
            files.ends()

    def _network(self, number: int, dropout: float) -> Network:
        seed = (self._around.parameters.seed * 1_000_003 + self._task.seq) * _SEEDS_OF_A_TRIAL + number
        torch.manual_seed(seed)  # the same weights on all ranks
        network = Network(self._graph, dropout)
        if self._task.weights:
            network.load_state_dict(self._task.weights.take())
        torch.manual_seed(seed + self._ranks.rank)  # what is dropped is each rank's own affair
        return network.to(self._device)

    def _finish(self, epoch: Epoch, files: TrainingFiles, network: Network) -> None:
        """All of an epoch's traces, or none: to be asked to end waits until they are there."""
        now = time.time()
        if now > self._deadline:
            leave(0)  # the worker is about to say that the trial was stopped
        self._finishing = True
        files.epoch_ends(epoch, now)
        if epoch.val_accuracy > self._best:
            self._best = epoch.val_accuracy
            save_weights(self._around.experiment, self._task.seq, network)
        self._report.say(epoch=epoch.val_accuracy, images=epoch.images, seconds=round(epoch.seconds, 4))
        self._finishing = False
        if self._asked_to_end:
            leave(0)

    def _end(self, *_: object) -> None:
        self._asked_to_end = True
        if not self._finishing:
            leave(0)

    def _next_settings(self) -> _Settings | None:
        """For one more training, if there is to be one; the first rank decides for all."""
        found: list[_Settings | None] = [self._suggested() if self._ranks.rank == 0 else None]
        if not self._ranks.alone and self._around.parameters.trainings_in(self._task.round_number) > 1:
            torch.distributed.broadcast_object_list(found, device=self._device)
        return found[0]

    def _suggested(self) -> _Settings | None:
        parameters, done = self._around.parameters, self._done
        best = max(range(len(done)), key=lambda number: done[number].best)
        if (
            len(done) >= parameters.trainings_in(self._task.round_number)
            or len(done) - 1 - best >= _TRAININGS_WITHOUT_GAIN
            or time.time() > self._deadline
        ):
            return None
        seed = parameters.seed + self._task.seq * _SEEDS_OF_A_TRIAL + len(done)
        return suggest(self._around.past(), self._around.space, seed, self._graph.kernel_size)

"""What the worker of a node does: one trial after the other until the time is over, each in processes of its own.

Nothing here computes: torch and the data are only loaded, once, and the processes forked from this one have them.
While a trial trains, another process makes the next network. All that workers know of each other is the history.
"""

from __future__ import annotations

import math
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

import rackmark_log
from candidates import fathers
from experiment import Attempt, begin_attempt
from offspring import Making, Offspring, Offsprings
from rackmark.automl.history import History, append
from rackmark.automl.progress import Progress
from rackmark.automl.trials import RUNNING, Trials
from rackmark.node.processes import Events
from room import with_room
from trial import Surroundings, Task
from watched_trial import Outcome, WatchedTrial
from weight_files import Handed, remove_weights

_BETWEEN_PROGRESS = 5.0  # seconds
_TRIES = 3
_LATEST, _BEST = 1000, 256  # trials that settings are learned from, networks that others are ranked by


@dataclass(frozen=True)
class Search:
    """What a worker is part of. `described` is experiment.json; an attempt is a job, of which there may be several."""

    experiment: Path
    described: Mapping[str, Any]
    attempt: int
    duration: float
    worker: int
    workers: int
    stalled_after: float


class Searcher:
    """`trials` is what `offsprings` and `around` know of the search; it is kept up to date here."""

    def __init__(
        self,
        search: Search,
        around: Surroundings,
        history: History,
        trials: Trials,
        offsprings: Offsprings,
        events: Events,
    ) -> None:
        self._search, self._around, self._trials, self._offsprings = search, around, trials, offsprings
        self._events = events
        self._history = history
        self._progress = Progress()
        self._unsaid: list[Mapping[str, Any]] = []
        self._say_again = 0.0
        self._own: list[int] = []  # its trials, all but those whose weights it has removed
        self._round = 0
        self._attempt: Attempt | None = None
        self._making: Making | None = None
        self._free_since = time.time()

    def run(self) -> None:
        self._look()
        self._own = [trial.seq for trial in self._trials if trial.worker == self._search.worker]
        for seq in self._own:
            if self._trials[seq].state == RUNNING:
                self._append(event="lost", seq=seq)
        self._append(event="began", attempt=self._search.attempt, host=socket.gethostname())
        self._free_since = time.time()
        goes_on = True
        while goes_on and self._events.stop is None and self._seq < self._around.parameters.maxTrialNum:
            made = self._next()
            goes_on = made is not None and self._train(*made)
        if self._making:
            self._making.end()
        self._tell_progress(at_once=True)

    @property
    def _is_over(self) -> bool:
        return self._events.stop is not None or time.time() >= self._deadline

    @property
    def _deadline(self) -> float:
        """The clock of an attempt begins with its first trial."""
        return self._attempt.deadline if self._attempt else math.inf

    @property
    def _seq(self) -> int:
        """Of the next trial."""
        return self._round * self._search.workers + self._search.worker

    def _next(self) -> tuple[Offspring, Handed | None] | None:
        """Waits for it; None if this process is asked to end first, or there is no further network."""
        for attempt in range(_TRIES):
            making = self._making or self._make(attempt)
            while not making.look():
                self._events.wait(1.0, [making.pipe])
                if self._events.stop is not None:
                    return None
            self._making = None
            made = making.result()
            if made is not None:
                return made
            if making.none_left and attempt == _TRIES - 1:
                _print(f"worker {self._search.worker} ends: {making.none_left}")
                return None
        raise RuntimeError(f"No network for trial {self._seq} could be made in {_TRIES} attempts.")

    def _make(self, attempt: int = 0) -> Making:
        self._look()
        self._making = self._offsprings.make(self._seq, attempt)
        return self._making

    def _make_meanwhile(self) -> None:
        """Never knows how the trial under way ended, however late it is begun, so that equal seeds search equally.

        Without any result so far, that of the trial is waited for.
        """
        if not self._making and fathers(self._trials, self._search.workers):
            self._make()

    def _train(self, offspring: Offspring, weights: Handed | None) -> bool:
        """Whether there is time for another one.

        The last record of a search is of a trial that its end cut short, be it one that had just been made: so it has
        lasted as long as was asked for.
        """
        search, now = self._search, time.time()
        if self._attempt is None:
            self._attempt = begin_attempt(
                search.experiment, search.attempt, search.duration, search.worker, search.workers, now
            )
            if not self._attempt.seconds:
                return False
        self._append(
            event="started",
            seq=offspring.seq,
            time=now,
            attempt=search.attempt,
            waited=round(max(0.0, now - self._free_since), 4),
            **offspring.record(),
        )
        self._tell_start(offspring)
        outcome = Outcome("stopped") if self._is_over else self._trained(offspring, weights)
        self._free_since = time.time()
        self._append(event="ended", seq=offspring.seq, time=self._free_since, **outcome.record())
        self._look()
        self._tell_end(offspring.seq, outcome)
        self._remove_weights()
        return outcome.state != "stopped"

    def _trained(self, offspring: Offspring, weights: Handed | None) -> Outcome:
        task = Task(offspring.seq, self._round, offspring.model, offspring.hyperparameter, weights)
        trial = WatchedTrial(task, self._around, self._deadline, self._search.stalled_after)
        self._own.append(offspring.seq)
        self._round += 1
        if weights:
            weights.close()
        self._watch(trial)
        if not self._is_over:
            self._make_meanwhile()
        return trial.outcome

    def _watch(self, trial: WatchedTrial) -> None:
        while not trial.look():
            now = time.time()
            if self._is_over:
                trial.stop()
                return
            if self._making:
                self._making.look()
            elif trial.is_half_done:
                self._make_meanwhile()
            self._tell_progress()
            pipes = [trial.pipe, *([self._making.pipe] if self._making and not self._making.look() else [])]
            self._events.wait(max(0.0, min(1.0, self._deadline - now, trial.patience_left)), pipes)

    def _remove_weights(self) -> None:
        kept = {trial.seq for trial in fathers(self._trials, self._search.workers)}
        for seq in [seq for seq in self._own if seq not in kept]:
            remove_weights(self._search.experiment, seq)
            self._own.remove(seq)

    def _append(self, **record: Any) -> None:  # noqa: ANN401
        record = {"worker": self._search.worker, "time": time.time(), **record}
        with_room(lambda: append(self._search.experiment, record), patience=math.inf)

    def _look(self) -> None:
        records = self._history.look()
        self._trials.take(records)
        own = [each for each in records if each["event"] == "started" and each["worker"] == self._search.worker]
        self._round = max([self._round, *(each["seq"] // self._search.workers + 1 for each in own)])
        self._trials.forget(_BEST + 3 * self._search.workers, _LATEST)
        self._unsaid += records

    def _tell_start(self, offspring: Offspring) -> None:
        search, father = self._search, offspring.father
        origin = ""
        if father is not None:
            origin = f", from {father:05d} ({self._trials[father].accuracy:.4f})"
        morphs = f", {', '.join(offspring.morphs)}" if offspring.morphs else ""
        _print(f"trial {offspring.seq:05d} of worker {search.worker}: {offspring.layers} layers{morphs}{origin}")

    def _tell_end(self, seq: int, outcome: Outcome) -> None:
        measured = "no accuracy" if outcome.accuracy is None else f"{outcome.accuracy:.4f}"
        reason = f" ({outcome.reason})" if outcome.reason else ""
        _print(f"trial {seq:05d} ended {outcome.state}{reason}, {measured} after {outcome.epochs} epochs")
        if outcome.state != "stopped":
            _tell(
                "trial",
                number=seq,
                state=outcome.state,
                accuracy=outcome.accuracy,
                seconds=round(outcome.seconds, 3),
                epochs=outcome.epochs,
            )
        self._tell_progress()

    def _tell_progress(self, at_once: bool = False) -> None:
        """How far all workers are, when there is something new."""
        if not at_once and time.monotonic() < self._say_again:
            return
        self._say_again = time.monotonic() + _BETWEEN_PROGRESS
        self._look()
        if self._unsaid:
            numbers = self._progress.numbers(self._unsaid, self._search.described, time.time())
            self._unsaid = []
            _tell("progress", **numbers)


def _print(line: str) -> None:
    with suppress(OSError):
        print(line, flush=True)


def _tell(event: str, **facts: object) -> None:
    """A line that a full disk keeps out is missed by nobody: the history has what it says."""
    with suppress(OSError):
        rackmark_log.emit(event, **facts)

"""How far a search is and how good, from its history alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Sequence

from .trials import FAILED, LOST, Trial, ended, is_abandoned, started


class Progress:
    """Numbers of a search under way. It holds one trial per worker, however many there have been."""

    def __init__(self) -> None:
        self._open: dict[int, Trial] = {}
        self._done: dict[int, int] = {}  # the last trial that each worker ended
        self._trials = 0
        self._failed = 0
        self._best: float | None = None
        self._flops = [0.0, 0.0]  # of each image that was evaluated, of each that was trained, times epochs
        self._began: float | None = None
        self._latest: float | None = None
        self._attempts: dict[int, tuple[float, float]] = {}
        self._attempt_of: dict[int, int] = {}

    def numbers(
        self, records: Iterable[Mapping[str, Any]], experiment: Mapping[str, Any], now: float
    ) -> dict[str, float | None]:
        """`records` are those that came since the last time; what is not known yet is None.

        trials: ended well; running; failed: diverged, crashed, lost ...; best: accuracy as a fraction; gflops and
        regulated: AIPerf's score from the first trial's start to the last one's end; share: of the time asked for.
        """
        for record in records:
            self._take(record)
        gflops = self._gflops(experiment)
        error = None if self._best is None else 1 - self._best
        return {
            "trials": self._trials,
            "running": len(self._open),
            "failed": self._failed,
            "best": self._best,
            "gflops": gflops,
            "regulated": gflops * abs(math.log(error)) if gflops is not None and error else None,
            "share": self._share(experiment, now),
        }

    def _take(self, record: Mapping[str, Any]) -> None:
        worker, event, time = record["worker"], record["event"], record["time"]
        attempt = self._attempt_of[worker] = record.get("attempt") or self._attempt_of.get(worker, 1)
        first, last = self._attempts.get(attempt, (time, time))
        self._attempts[attempt] = min(first, time), max(last, time)
        if record.get("seq", math.inf) <= self._done.get(worker, -1):
            return  # read again
        if is_abandoned(self._open.get(worker), record):
            self._end(self._open.pop(worker), LOST)
        if event == "started":
            self._open[worker] = started(record)
            self._began = time if self._began is None else min(self._began, time)
        elif event != "began":
            known = self._open.pop(worker, None)
            if known is None or known.seq != record["seq"]:
                known = Trial(record["seq"], worker)
            trial = ended(known, record)
            self._end(trial, trial.state)

    def _end(self, trial: Trial, state: str) -> None:
        self._done[trial.worker] = trial.seq
        self._trials += state == "ok"
        self._failed += state in FAILED
        if trial.accuracy is not None:
            self._best = max(self._best or 0.0, trial.accuracy)
        if trial.epochs and trial.flops:
            self._flops[0] += trial.epochs * trial.flops.evaluation
            self._flops[1] += trial.epochs * trial.flops.training
        if trial.epochs and trial.ended is not None:
            self._latest = max(self._latest or 0.0, trial.ended)

    def _gflops(self, experiment: Mapping[str, Any]) -> float | None:
        if self._began is None or self._latest is None or self._latest <= self._began:
            return None
        trained: int
        evaluated: int
        trained, evaluated = experiment["dataset"]["counted"]
        done = self._flops[0] * evaluated + self._flops[1] * trained
        return done / (self._latest - self._began) / 1e9

    def _share(self, experiment: Mapping[str, Any], now: float) -> float | None:
        duration: float = experiment["duration"]
        if not self._attempts or not duration:
            return None
        latest = max(self._attempts)
        searched = sum(last - first for attempt, (first, last) in self._attempts.items() if attempt != latest)
        searched += max(0.0, now - self._attempts[latest][0])
        return min(1.0, searched / duration)


@dataclass(frozen=True)
class Shares:
    """Of the time of all nodes: in epochs, and without a trial. Percent; None is not known."""

    training: float | None
    waiting: float | None
    images_per_second: float | None


def shares(trials: Sequence[Trial], began: float, ended: float, nodes: int) -> Shares:
    """A trial that nobody ended is counted as if nothing had been trained in it."""
    seconds = ended - began
    if seconds <= 0 or not trials:
        return Shares(None, None, None)
    return Shares(
        100 * sum(trial.seconds for trial in trials) / (nodes * seconds),
        100 * sum(trial.waited for trial in trials) / (nodes * seconds),
        sum(trial.images for trial in trials) / seconds,
    )

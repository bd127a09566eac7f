"""What the records of the history say of each trial."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Iterable, Iterator, Mapping, Sequence

from ..aiperf.flops import Flops

RUNNING = "running"
LOST = "lost"
FAILED = ("diverged", "oom", "crashed", "stalled", LOST)


@dataclass(frozen=True)
class Trial:
    """`seq` is round * workers + worker. What its records do not say is None; times are seconds since 1970.

    `accuracy` is the best measured, as a fraction; `seconds` are those in epochs, `waited` those before it without a
    trial on its node; `trainings` are mappings with hyperparameter, accuracy and epochs.
    """

    seq: int
    worker: int
    state: str = RUNNING
    father: int | None = None
    digest: str | None = None
    accuracy: float | None = None
    predicted: float | None = None
    began: float | None = None
    ended: float | None = None
    hyperparameter: Mapping[str, float] = field(default_factory=dict)
    flops: Flops | None = None
    params: int | None = None
    layers: int | None = None
    features: Sequence[float] = ()
    epochs: int = 0
    images: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    attempt: int = 1
    morphs: Sequence[str] = ()
    trainings: Sequence[Mapping[str, Any]] = ()
    reason: str | None = None


class Trials:
    """The trials of a history, brought up to date with what each look finds. `children` counts those of each father."""

    def __init__(self) -> None:
        self.children: Counter[int] = Counter()
        self._trials: dict[int, Trial] = {}
        self._open: dict[int, int] = {}  # the trial that each worker is at

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._trials.values())

    def __len__(self) -> int:
        return len(self._trials)

    def __getitem__(self, seq: int) -> Trial:
        return self._trials[seq]

    def take(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Records of the same worker have to come in their order; a record that is read again changes nothing."""
        for record in records:
            worker, event = record["worker"], record["event"]
            at = self._trials.get(self._open.get(worker, -1))
            if at is not None and is_abandoned(at, record):
                self._trials[at.seq] = replace(at, state=LOST, ended=record["time"])
                del self._open[worker]
            if event == "started" and record["seq"] not in self._trials:
                self._trials[record["seq"]] = started(record)
                self._open[worker] = record["seq"]
                self.children.update([record["father"]] if record.get("father") is not None else [])
            elif event in ("ended", "lost"):
                known = self._trials.get(record["seq"]) or Trial(record["seq"], worker)
                self._trials[record["seq"]] = ended(known, record)
                if self._open.get(worker) == record["seq"]:
                    del self._open[worker]

    def forget(self, best: int, latest: int) -> None:
        """Keeps those that run, the start network, and so many of the others, so that memory does not grow for ever."""
        if len(self._trials) < 2 * (best + latest):
            return
        done = [trial for trial in self._trials.values() if trial.state != RUNNING]
        kept = heapq.nlargest(best, done, key=lambda trial: (trial.accuracy or 0.0, -trial.seq))
        kept += heapq.nlargest(latest, done, key=lambda trial: (trial.ended or 0.0, trial.seq))
        kept += heapq.nlargest(1, filter(is_start, done), key=lambda trial: (trial.accuracy or 0.0, -trial.seq))
        running = [self._trials[seq] for seq in self._open.values()]
        self._trials = {trial.seq: trial for trial in sorted([*kept, *running], key=lambda trial: trial.seq)}
        self.children = Counter({seq: count for seq, count in self.children.items() if seq in self._trials})


def is_start(trial: Trial) -> bool:
    """Whether it trained the network that the search started with."""
    return trial.father is None and not trial.morphs


def is_abandoned(trial: Trial | None, record: Mapping[str, Any]) -> bool:
    """A worker that starts anew, or starts another trial, does not go on with the one it was at."""
    if trial is None:
        return False
    anew = record["event"] == "began" and (trial.began is None or record["time"] >= trial.began)
    return anew or (record["event"] == "started" and record["seq"] > trial.seq)


def started(record: Mapping[str, Any]) -> Trial:
    flops = record.get("flops")
    return Trial(
        record["seq"],
        record["worker"],
        father=record.get("father"),
        digest=record.get("digest"),
        began=record["time"],
        hyperparameter=record.get("hyperparameter") or {},
        flops=Flops(flops["evaluation"], flops["training"]) if flops else None,
        params=record.get("params"),
        layers=record.get("layers"),
        features=tuple(record.get("features") or ()),
        waited=record.get("waited") or 0.0,
        attempt=record.get("attempt") or 1,
        morphs=tuple(record.get("morphs") or ()),
    )


def ended(trial: Trial, record: Mapping[str, Any]) -> Trial:
    if record["event"] == "lost":
        return replace(trial, state=LOST, ended=record["time"])
    return replace(
        trial,
        state=record["state"],
        ended=record["time"],
        accuracy=record.get("accuracy"),
        predicted=record.get("predicted"),
        epochs=record.get("epochs") or 0,
        images=record.get("images") or 0,
        seconds=record.get("seconds") or 0.0,
        trainings=tuple(record.get("trainings") or ()),
        reason=record.get("reason"),
    )


def trials_of(records: Iterable[Mapping[str, Any]], now_lost: bool) -> list[Trial]:
    """In the order of their numbers. `now_lost`: nobody is at work any more, so that what is open is lost."""
    trials = Trials()
    trials.take(records)
    found = sorted(trials, key=lambda trial: trial.seq)
    return [replace(trial, state=LOST) if now_lost and trial.state == RUNNING else trial for trial in found]

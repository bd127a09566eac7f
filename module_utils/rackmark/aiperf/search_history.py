"""The history of a search as its result needs it: the trials, when each attempt at the search ran, what is odd."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

from ..automl.history import FOLDER, History
from ..automl.trials import LOST, Trial, trials_of
from ..logs.printable import printable
from .experiment_record import ExperimentRecord
from .folder import Folder

_NAMED = 5
_MOST_ATTEMPTS = 1000
_LATEST = 1e11


@dataclass
class Attempt:
    """`began` is when its first trial did, `deadline` when the last one has to end, by the clock of the worker that was
    first; `first` and `last` are the times of records."""

    number: int
    began: float | None = None
    deadline: float = math.inf
    first: float = math.inf
    last: float = -math.inf

    @property
    def seconds(self) -> float:
        return max(0.0, self.last - (self.first if self.began is None else self.began))


@dataclass
class SearchHistory:
    """`records` are those of each worker in their order, with the attempt that each is of."""

    trials: Sequence[Trial] = ()
    attempts: Sequence[Attempt] = ()
    records: Mapping[int, Sequence[tuple[int, Mapping[str, Any]]]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    @property
    def last(self) -> float | None:
        return max((attempt.last for attempt in self.attempts), default=None)

    @property
    def searched(self) -> float:
        """Seconds, without the time between attempts."""
        return math.fsum(attempt.seconds for attempt in self.attempts)

    def hosts(self) -> dict[int, str]:
        """Of each worker, where it began last."""
        return {
            worker: record["host"]
            for worker, own in self.records.items()
            for _, record in own
            if record["event"] == "began" and record.get("host")
        }


def read_search_history(files: Folder, record: ExperimentRecord) -> SearchHistory:
    odd = [name for name in files.entries(FOLDER) if not files.has(f"{FOLDER}/{name}")]
    if odd:
        files.problems.append(f"{FOLDER}/{odd[0]} is no plain file: the history was not read.")
        return SearchHistory()
    reader = History(files.root, record.slave)
    records = reader.look()
    by_worker = _by_worker(records)
    attempts = _attempts(files, by_worker)
    trials = trials_of(records, now_lost=True)
    return SearchHistory(
        trials,
        attempts,
        by_worker,
        [
            *_unread(reader),
            *_absent(record.slave, by_worker),
            *_lost(trials),
            *_pauses(attempts),
        ],
    )


def _by_worker(records: Sequence[Mapping[str, Any]]) -> dict[int, list[tuple[int, Mapping[str, Any]]]]:
    by_worker: dict[int, list[tuple[int, Mapping[str, Any]]]] = {}
    for record in records:
        own = by_worker.setdefault(record["worker"], [])
        own.append((record.get("attempt") or (own[-1][0] if own else 1), record))
    return by_worker


def _attempts(files: Folder, by_worker: Mapping[int, Sequence[tuple[int, Mapping[str, Any]]]]) -> list[Attempt]:
    found: dict[int, Attempt] = {}
    for own in by_worker.values():
        for number, record in own:
            attempt = found.setdefault(number, Attempt(number))
            attempt.first = min(attempt.first, record["time"])
            attempt.last = max(attempt.last, record["time"])
    for attempt in list(found.values())[:_MOST_ATTEMPTS]:
        path = f"attempts/{attempt.number}.json"
        begin = files.record(path) if files.has(path) else None
        attempt.began, seconds = (_time((begin or {}).get(name)) for name in ("began", "seconds"))
        if attempt.began is not None and seconds is not None:
            attempt.deadline = attempt.began + seconds
    return sorted(found.values(), key=lambda attempt: attempt.number)


def _time(value: object) -> float | None:
    return float(value) if type(value) in (int, float) and 0 <= value < _LATEST else None  # type: ignore


def _unread(reader: History) -> list[str]:
    sentences = [*reader.complaints, *reader.unread()]
    count = [f"{reader.bad} lines of the history were passed over."] if reader.bad > 1 else []
    return [*count, *map(printable, sentences[:_NAMED])]


def _absent(workers: int, by_worker: Mapping[int, object]) -> list[str]:
    absent = [str(worker) for worker in range(workers) if worker not in by_worker]
    if not absent:
        return []
    who = f"Worker {absent[0]}" if len(absent) == 1 else f"{len(absent)} workers ({_listed(absent)})"
    return [f"{who} of {workers} left no record: no trial of {'it' if len(absent) == 1 else 'them'} is in the numbers."]


def _lost(trials: Sequence[Trial]) -> list[str]:
    lost = [trial for trial in trials if trial.state == LOST]
    if not lost:
        return []
    names = _listed([f"{trial.seq:05d} of worker {trial.worker}" for trial in lost])
    what = "trial was" if len(lost) == 1 else "trials were"
    return [f"{len(lost)} {what} lost with a worker or its node: {names}. Epochs finished before that count."]


def _pauses(attempts: Sequence[Attempt]) -> list[str]:
    sentences = []
    for before, after in zip(attempts, attempts[1:]):
        begin = after.first if after.began is None else after.began
        minutes = (begin - before.last) / 60
        sentences.append(
            f"The search stood still for {minutes:.1f} min between attempt {before.number} and attempt {after.number}:"
            " that time is in the score, and in no share of node time."
        )
    return sentences


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more

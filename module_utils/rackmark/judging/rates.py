"""Numbers of a repeat from the sums of its ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Iterable, Mapping, Sequence

from ..logs.dialect import Dialect
from ..logs.digest import Digest, RankDigest


@dataclass(frozen=True)
class Logged:
    """All that the logs of a repeat hold. `batch` is per device, where anything says it; `ahead` are seconds by which
    the clock of each log is ahead of the first one's, as far as they are known."""

    world_size: int
    dialect: Dialect
    batch: int | None
    logs: Sequence[Digest]
    ranks: Mapping[int | None, RankDigest]
    ahead: Sequence[float] = ()

    @property
    def stated(self) -> Mapping[str, float]:
        """The word of the first log counts."""
        return {name: value for one in reversed(self.logs) for name, value in one.stated.items()}

    @property
    def measured(self) -> list[RankDigest]:
        return [rank for rank in self.ranks.values() if rank.steps]


def throughput(logged: Logged) -> float | None:
    """Samples of all ranks over the time of the slowest: a mean of rates would hide slow steps and slow ranks."""
    stated, dialect = logged.stated, logged.dialect
    if dialect.prefers_stated and "throughput" in stated:
        return stated["throughput"]
    measured = logged.measured
    if not measured:
        return stated.get("throughput")
    if dialect.gives_rate:
        rates = [rank.steps / rank.seconds for rank in measured]
        if dialect.rate_of_one_device:
            return rates[0] * logged.world_size
        return rates[0] if dialect.of_all_ranks else math.fsum(rates)
    samples = window_samples(logged)
    return None if samples is None else samples / max(rank.seconds for rank in measured)


def window_samples(logged: Logged) -> float | None:
    """Of all ranks, in the measured window."""
    return _of_all(logged, [_samples(rank.samples, rank.steps, logged.batch) for rank in logged.measured])


def whole_rate(logged: Logged, without: float = 0.0) -> float | None:
    """Samples of all steps over the time from the begin of the first to the last thing that any rank logged."""
    ranks = list(logged.ranks.values())
    ahead = logged.ahead or [0.0] * len(logged.logs)
    of_ranks = [seconds for log, seconds in zip(logged.logs, ahead) for _ in log.ranks]
    begins = [rank.begin for log in logged.logs for rank in log.ranks.values()]
    first = [begin - seconds for begin, seconds in zip(begins, of_ranks) if begin is not None]
    last = [end - seconds for end, seconds in zip(ends_of_logs(logged), of_ranks) if end is not None]
    samples = _of_all(logged, [_samples(rank.logged_samples, rank.logged_steps, logged.batch) for rank in ranks])
    if samples is None or not len(first) == len(last) == len(ranks) > 0:
        return None
    seconds = max(last) - min(first) - without
    return samples / seconds if seconds > 0 else None


def evaluation_seconds(logs: Iterable[Digest]) -> float:
    """Where only some ranks evaluate, the others wait for them."""
    return max((math.fsum(evaluation.seconds for evaluation in log.evaluations) for log in logs), default=0.0)


def last_loss(logged: Logged) -> float | None:
    """As stated, else the mean over the ranks of the last loss each has logged."""
    last = [rank.losses[-1] for rank in logged.ranks.values() if rank.losses]
    return logged.stated.get("loss", math.fsum(last) / len(last) if last else None)


def ends_of_logs(logged: Logged) -> list[float | None]:
    """The last moment that each rank's log tells of: of one with several ranks what it says beside its steps is not of
    one of them."""
    ends: list[float | None] = []
    for log in logged.logs:
        beside = [evaluation.time for evaluation in log.evaluations]
        beside += [] if log.ended is None else [log.ended]
        for rank in log.ranks.values():
            ends.append(None if rank.finished is None else max([rank.finished, *beside]))
    return ends


def _of_all(logged: Logged, samples: Sequence[float | None]) -> float | None:
    known = [count for count in samples if count is not None]
    if not known or len(known) < len(samples):
        return None
    first = next(iter(logged.ranks.values()))
    if logged.dialect.of_all_ranks:
        return known[0] * (1 if math.isfinite(first.samples) else logged.world_size)
    every = logged.world_size if list(logged.ranks) == [None] else 1  # lines of ranks that cannot be told apart
    return every * math.fsum(known)


def _samples(counted: float, steps: float, batch: int | None) -> float | None:
    if math.isfinite(counted):
        return counted
    return steps * batch if batch is not None else None

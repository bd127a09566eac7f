"""Says what one repeat is worth. Only a repeat that is `ok` may enter a number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from ..dialects import Reader
from .faults import Plan, find_fault
from .repeat import Rank, Repeat, read_repeat

__all__ = ["Judged", "Plan", "Result", "judge"]


@dataclass(frozen=True)
class Result:
    """Rates are samples per second of all ranks: in the measured window, of the whole training, and of that without
    the time of evaluations. They are null, as loss and accuracy are, unless the state is `ok`.

    `time_to_train_s` is what a training took to reach the accuracy asked for; our own workloads ask for none.
    `energy_j` went through meters from its begin to its end, in our own runs while steps were measured, and
    `samples_per_j` were trained per joule in that time. `energy_of` says what was metered, as far as that is known."""

    case: str
    repeat: int
    state: str
    reason: str | None
    throughput: float | None
    whole: float | None
    no_eval: float | None
    loss: float | None
    accuracy: float | None
    time_to_train_s: float | None
    energy_j: float | None
    samples_per_j: float | None
    ranks_seen: int
    attempts: int
    job_id: int | None
    nodes: str | None
    finished: float | None
    energy_of: str | None = None


@dataclass(frozen=True)
class Judged:
    result: Result
    ranks: Sequence[Rank]


def judge(folder: Path, number: int, plan: Plan, read_log: Reader) -> Judged:
    repeat = read_repeat(folder, read_log)
    verdict = find_fault(repeat, plan)
    throughput = whole = no_eval = loss = accuracy = None
    if verdict is None:
        throughput = measured_rate(repeat.ranks, plan.warmup)
        whole = whole_rate(repeat.ranks)
        no_eval = whole_rate(repeat.ranks, without=_evaluation_seconds(repeat.ranks))
        loss = last_loss(repeat.ranks)
        accuracy = _last_accuracy(repeat.ranks)
    job = repeat.job or {}
    result = Result(
        case=plan.case.case,
        repeat=number,
        state=verdict.state if verdict else "ok",
        reason=verdict.reason if verdict else None,
        throughput=throughput,
        whole=whole,
        no_eval=no_eval,
        loss=loss,
        accuracy=accuracy,
        time_to_train_s=None,
        energy_j=None,
        samples_per_j=None,
        ranks_seen=sum(rank.log.start is not None for rank in repeat.ranks),
        attempts=repeat.attempts,
        job_id=job.get("job_id"),
        nodes=job.get("nodes") or _nodes_by_the_job(repeat),
        finished=max((sample.time for rank in repeat.ranks for sample in rank.log.samples), default=None),
    )
    return Judged(result, repeat.ranks)


def measured_rate(ranks: Sequence[Rank], warmup: int) -> float:
    """Samples of all ranks over the time of the slowest: a mean of rates would hide slow steps and slow ranks."""
    measured = [[sample for sample in rank.log.samples if sample.step > warmup] for rank in ranks]
    samples = sum(sample.samples for rank in measured for sample in rank)
    return samples / max(math.fsum(sample.seconds for sample in rank) for rank in measured)


def whole_rate(ranks: Sequence[Rank], without: float = 0.0) -> float | None:
    """Samples of all steps over the time from the begin of the first to the last thing that was logged."""
    samples = sum(sample.samples for rank in ranks for sample in rank.log.samples)
    seconds = max(_wall_seconds(rank) for rank in ranks) - without
    return samples / seconds if seconds > 0 else None


def _wall_seconds(rank: Rank) -> float:
    first = rank.log.samples[0]
    times = [entry.time for entries in (rank.log.samples, rank.log.evaluations) for entry in entries]
    end = (rank.log.end or {}).get("time")
    if isinstance(end, (int, float)):
        times.append(end)
    return max(times) - (first.time - first.seconds)


def _evaluation_seconds(ranks: Sequence[Rank]) -> float:
    """Where only some ranks evaluate, the others wait for them."""
    return max(math.fsum(evaluation.seconds for evaluation in rank.log.evaluations) for rank in ranks)


def last_loss(ranks: Sequence[Rank]) -> float | None:
    """The mean over the ranks of the last loss each has logged."""
    losses = [[sample.loss for sample in rank.log.samples if sample.loss is not None] for rank in ranks]
    last = [of_rank[-1] for of_rank in losses if of_rank]
    return math.fsum(last) / len(last) if last else None


def _last_accuracy(ranks: Sequence[Rank]) -> float | None:
    return next(
        (rank.log.evaluations[-1].accuracy for rank in ranks if rank.number == 0 and rank.log.evaluations), None
    )


def _nodes_by_the_job(repeat: Repeat) -> str | None:
    nodes = (repeat.end or {}).get("nodes") or []
    return ",".join(map(str, nodes)) or None

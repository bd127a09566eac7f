"""What the logs of a case's ok repeats hold beyond one number per repeat: its steps, its ranks, its loss."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import Mapping, Sequence

from ..judging.judge import Judged
from ..judging.repeat import Rank
from ..run.manifest import Manifest


@dataclass(frozen=True)
class Measurements:
    """`steps`: seconds of every measured step, of all ranks and repeats. `ranks`: the mean of these by rank, the
    median over the repeats. `losses`: by step, the mean over ranks and repeats, from the first step on."""

    steps: Sequence[float]
    ranks: Sequence[float]
    losses: Sequence[tuple[int, float]]

    @property
    def spread(self) -> float | None:
        """How many times as long as the fastest rank the slowest one takes for a step."""
        return max(self.ranks) / min(self.ranks) if len(self.ranks) > 1 else None


def measure(manifest: Manifest, judged: Sequence[Judged]) -> Mapping[str, Measurements]:
    """By case."""
    return {
        planned.case: _measure(
            [one.ranks for one in judged if one.result.case == planned.case and one.result.state == "ok"],
            manifest.warmup,
        )
        for planned in manifest.cases
    }


def _measure(repeats: Sequence[Sequence[Rank]], warmup: int) -> Measurements:
    seconds = [[step_seconds(rank, warmup) for rank in sorted(ranks, key=_number)] for ranks in repeats]
    means = [[math.fsum(steps) / len(steps) for steps in ranks if steps] for ranks in seconds]
    return Measurements(
        steps=[step for ranks in seconds for steps in ranks for step in steps],
        ranks=[median(of_one_rank) for of_one_rank in zip(*means)],
        losses=_losses(repeats),
    )


def step_seconds(rank: Rank, warmup: int) -> list[float]:
    """One entry per step; where a log gives the time of several steps at once, each of them took the mean."""
    inside = [sample for sample in rank.log.samples if sample.step - sample.steps >= warmup]
    return [sample.seconds / sample.steps for sample in inside for _ in range(sample.steps)]


def _losses(repeats: Sequence[Sequence[Rank]]) -> list[tuple[int, float]]:
    by_step: dict[int, list[float]] = defaultdict(list)
    for ranks in repeats:
        for rank in ranks:
            for sample in rank.log.samples:
                if sample.loss is not None:
                    by_step[sample.step].append(sample.loss)
    return [(step, math.fsum(losses) / len(losses)) for step, losses in sorted(by_step.items())]


def _number(rank: Rank) -> int:
    return rank.number

"""What the logs of a case's ok repeats hold beyond one number per repeat: its steps, its ranks, its loss."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, replace
from statistics import median
from typing import Iterable, Mapping, Sequence

import numpy as np

from ..judging.result import Judged
from ..logs.arrays import Array
from ..logs.digest import RankDigest
from .stragglers import stragglers


@dataclass(frozen=True)
class Measurements:
    """`steps`: seconds of every measured step, of all ranks and repeats, in rising order. `ranks`: the mean of these
    by rank, the median over the repeats. `losses`: by step, the mean over ranks and repeats, from the first step on.
    `stragglers` are sentences without their subject, the case."""

    steps: Sequence[float]
    ranks: Sequence[float]
    losses: Sequence[tuple[int, float]]
    stragglers: Sequence[str] = ()

    @property
    def spread(self) -> float | None:
        """How many times as long as the fastest rank the slowest one takes for a step."""
        return max(self.ranks) / min(self.ranks) if len(self.ranks) > 1 else None


def measure(cases: Iterable[str], judged: Sequence[Judged]) -> Mapping[str, Measurements]:
    """By case."""
    ok: dict[str, list[Judged]] = {case: [] for case in cases}
    for one in judged:
        if one.result.state == "ok":
            ok[one.result.case].append(one)
    return {
        case: replace(_measure([_by_number(one) for one in repeats]), stragglers=stragglers(repeats))
        for case, repeats in ok.items()
    }


def _by_number(judged: Judged) -> list[RankDigest]:
    return [rank for _, rank in sorted(judged.ranks.items(), key=lambda entry: entry[0] or 0)]


def _measure(repeats: Sequence[Sequence[RankDigest]]) -> Measurements:
    of_ranks = [[rank for rank in ranks if rank.step_seconds] for ranks in repeats]
    means = [[math.fsum(rank.step_seconds) / len(rank.step_seconds) for rank in ranks] for ranks in of_ranks if ranks]
    steps = [np.asarray(rank.step_seconds, float) for ranks in of_ranks for rank in ranks]
    return Measurements(
        steps=array("d", np.sort(np.concatenate(steps)).tobytes() if steps else b""),
        ranks=[median(of_one_rank) for of_one_rank in zip(*means)],
        losses=_losses([rank for ranks in repeats for rank in ranks if rank.losses]),
    )


def _losses(ranks: Sequence[RankDigest]) -> list[tuple[int, float]]:
    if not ranks:
        return []
    steps = np.concatenate([np.asarray(rank.loss_steps, float) for rank in ranks])
    losses: Array = np.concatenate([np.asarray(rank.losses, float) for rank in ranks])
    by_step, places = np.unique(steps, return_inverse=True)
    means = np.bincount(places, weights=losses) / np.bincount(places)
    return list(zip(by_step.astype(int).tolist(), means.tolist()))

"""AIPerf's score: the analytic operations of all trainings over the time they took, and how well the best of them did.

Time is counted from the begin of the first trial to the last epoch that had ended. The final score is the last point of
the series, which is later than every epoch. Versions of AIPerf that took the largest compared texts, so that 9.10 beat
10.25.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Sequence

from .flops import Flops

LONGEST_HOURS = 10_000  # a longer experiment is a wrong clock
_MOST_POINTS = 100_000


@dataclass(frozen=True)
class Images:
    """What an epoch counts as, of images to train with and to evaluate with."""

    training: int
    evaluation: int


# AIPerf takes 1,280,000 for ImageNet's 1,281,167 images to train with.
IMAGENET = Images(1_280_000, 50_000)


@dataclass(frozen=True)
class Epoch:
    """`ended` in seconds; `accuracy` on the images for evaluation, a fraction."""

    number: int
    ended: float
    accuracy: float


@dataclass(frozen=True)
class Training:
    """One training of a trial with hyperparameters of its own; `flops` of one image are None where they are unknown."""

    trial: str
    number: int
    flops: Flops | None
    epochs: Sequence[Epoch]


@dataclass(frozen=True)
class Grid:
    """When the score is looked at, in seconds from the begin of the experiment."""

    first: int
    step: int


@dataclass(frozen=True)
class Point:
    """`hours` from the begin to the last epoch that had ended by then; `regulated` is None at an accuracy of 100 %."""

    hours: float
    gflops: float
    accuracy: float
    regulated: float | None

    @property
    def error(self) -> float:
        """In percent."""
        return 100 - 100 * self.accuracy


@dataclass(frozen=True)
class Score:
    """`reason` says why there is no point, or why the last one has no regulated score."""

    points: Sequence[Point]
    reason: str | None

    @property
    def final(self) -> Point | None:
        return self.points[-1] if self.points else None


def score(trainings: Sequence[Training], started: float | None, grid: Grid, images: Images = IMAGENET) -> Score:
    """A point of the grid before the first end of an epoch is left out."""
    ends = sorted(
        (epoch.ended, training.trial, training.number, epoch.number, epoch.accuracy, place)
        for place, training in enumerate(trainings)
        for epoch in training.epochs
    )
    if started is None:
        return Score([], "It is not known when the experiment began.")
    if not ends:
        return Score([], "No epoch has ended.")
    seconds = ends[-1][0] - started
    if not seconds <= min(LONGEST_HOURS * 3600, _MOST_POINTS * grid.step):
        return Score([], f"The last epoch ended {seconds / 3600:.0f} hours after the begin: a clock is wrong.")
    if ends[0][0] < started or seconds <= 0:
        return Score([], "An epoch ended before the experiment began: a clock is wrong.")
    progress = _Progress(trainings, started, images)
    points = []
    due = 0
    for after in _looks(grid, seconds):
        until = started + after
        while due < len(ends) and ends[due][0] < until:
            ended, _, _, epoch, accuracy, place = ends[due]
            progress.take(place, epoch, ended, accuracy)
            due += 1
        if progress.seconds > 0:  # stamps are whole seconds: an epoch may end in that of the begin
            points.append(progress.point())
    return Score(points, _why_not_regulated(points[-1]))


def thinned(points: Sequence[Point], most: int) -> Sequence[Point]:
    """Evenly over the time, with the last."""
    step = math.ceil(len(points) / most) or 1
    return points[::-1][::step][::-1]


def _looks(grid: Grid, seconds: float) -> range:
    """Up to the first one that is later than the end."""
    further = max(0, math.floor((seconds - grid.first) / grid.step) + 1)
    return range(grid.first, grid.first + further * grid.step + 1, grid.step)


def _why_not_regulated(point: Point) -> str | None:
    if point.regulated is not None:
        return None
    return "The best accuracy is 100 %, for which the regulated score has no value."


class _Progress:
    """What had been done by a time, taken epoch by epoch in the order of their ends."""

    def __init__(self, trainings: Sequence[Training], started: float, images: Images) -> None:
        self._started = started
        self._flops_of_epoch = [_flops_of_epoch(training.flops, images) for training in trainings]
        self._epochs_done = [0] * len(trainings)
        self._flops = 0.0
        self._latest = started
        self._accuracy = 0.0

    def take(self, training: int, epoch: int, ended: float, accuracy: float) -> None:
        self._flops += self._flops_of_epoch[training] * (epoch - self._epochs_done[training])
        self._epochs_done[training] = epoch
        self._latest = ended
        self._accuracy = max(self._accuracy, accuracy)

    @property
    def seconds(self) -> float:
        return self._latest - self._started

    def point(self) -> Point:
        gflops = self._flops / self.seconds / 1e9
        regulated = gflops * abs(math.log(1 - self._accuracy)) if self._accuracy < 1 else None
        return Point(self.seconds / 3600, gflops, self._accuracy, regulated)


def _flops_of_epoch(flops: Flops | None, images: Images) -> float:
    return flops.evaluation * images.evaluation + flops.training * images.training if flops else 0.0

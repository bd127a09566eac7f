"""How the lines of a format tell how far a training is, and how long it took to get there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Seconds:
    """The line names a duration. It is of the whole interval since the line before, or else of each step
    (`per_step`), or of the last step alone (`of_last_step`), or of as many last steps as the field `of_steps` says."""

    field: str
    scale: float = 1.0
    per_step: bool = False
    of_last_step: bool = False
    of_steps: str | None = None


@dataclass(frozen=True)
class Rate:
    """The line names the samples per second of the interval since the line before."""

    field: str
    scale: float = 1.0


@dataclass(frozen=True)
class Stamp:
    """The line names when it was written, in units of `scale` seconds since some moment."""

    field: str
    scale: float = 1.0


@dataclass(frozen=True)
class Clock:
    """The line names the time of day; with `day` fields (year, month, day) the date too."""

    hour: str = "hour"
    minute: str = "minute"
    second: str = "second"
    dated: bool = False


Timing = Union[Seconds, Rate, Stamp, Clock]


@dataclass(frozen=True)
class Steps:
    """`step` plus `offset` is the number of steps done when the line was written; without the field, lines are
    counted, `every` steps each. With `epoch` the steps count from the begin of an epoch of `epoch_steps`. `check` is
    the duration that a line names beside the time of its writing, `time` the field of that time, in seconds, where the
    timing is by durations. `printed` is the field of the samples per second that a line names beside its timing, of
    all ranks if a line is of all. `written` is the clock by which a rate that is the timing is checked.
    """

    timing: Timing
    step: str | None = "step"
    offset: int = 0
    every: int = 1
    epoch: str | None = None
    epoch_steps: str | None = None
    samples: str | None = None
    rank: str | None = None
    loss: str | None = None
    check: Seconds | None = None
    printed: str | None = None
    written: Clock | None = None
    time: str | None = None

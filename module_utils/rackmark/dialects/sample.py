"""What every log format is turned into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence


@dataclass(frozen=True)
class Sample:
    """One measured interval of one rank: `steps` training steps, of which `step` is the last.

    A loss that is nan or infinite is kept as such; None is a loss not logged. `time` is when the interval ended.
    """

    step: int
    samples: float
    seconds: float
    loss: float | None
    time: float
    steps: int = 1


@dataclass(frozen=True)
class Evaluation:
    """How well the model did after `step` on images it was not trained on; `accuracy` is a fraction."""

    step: int
    seconds: float
    accuracy: float
    loss: float | None
    time: float


@dataclass(frozen=True)
class RankLog:
    """The log of one rank: what it said about itself at the start and at the end, and its numbers in between."""

    start: Mapping[str, Any] | None
    samples: Sequence[Sample]
    evaluations: Sequence[Evaluation]
    end: Mapping[str, Any] | None

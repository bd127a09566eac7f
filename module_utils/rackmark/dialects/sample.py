"""What every log format is turned into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence


@dataclass(frozen=True)
class Sample:
    """One measured interval of one rank. A loss that is nan or infinite is kept as such; None is a loss not logged."""

    step: int
    samples: float
    seconds: float
    loss: float | None
    time: float


@dataclass(frozen=True)
class RankLog:
    """The log of one rank: what it said about itself at the start and at the end, and its samples in between."""

    start: Mapping[str, Any] | None
    samples: Sequence[Sample]
    end: Mapping[str, Any] | None

"""Clocks of hosts, compared over connections that take their time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Tuple

# A question is asked when, answered with which time, and the answer is there when.
Answer = Tuple[float, float, float]


@dataclass(frozen=True)
class ClockReading:
    """How far a clock is ahead of this machine's, in seconds, give or take the error."""

    offset: float
    error: float


def read(answers: Iterable[Answer]) -> ClockReading:
    """The best of several answers, which is the one that took the shortest way.

    The clock was read at some moment between question and answer; which moment is all that is not known.
    """
    asked, told, answered = min(answers, key=lambda answer: answer[2] - answer[0])
    return ClockReading(offset=told - (asked + answered) / 2, error=(answered - asked) / 2)


def skew(clock: ClockReading, reference: ClockReading) -> ClockReading:
    """How far a clock is ahead of another one."""
    return ClockReading(clock.offset - reference.offset, clock.error + reference.error)


def surely_beyond(limit: float, difference: ClockReading) -> bool:
    return abs(difference.offset) - difference.error > limit


def complaint(host: str, reference: str, limit: float, difference: ClockReading) -> str:
    direction = "ahead of" if difference.offset > 0 else "behind"
    return (
        f"The clock of {host} is {abs(difference.offset):.1f} s {direction} that of {reference}. More than {limit:g} s"
        " apart logs cannot be compared, and munge soon refuses jobs: look at 'chronyc sources' there, and set it right"
        " at once with 'chronyc makestep'."
    )

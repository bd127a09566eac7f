"""What the lines of several dialects are made of."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Callable, NamedTuple


class Lines(NamedTuple):
    """`of` gives what is written about one interval, by its number from 1 on; `begin` and `end` are written once."""

    of: Callable[[int, Random], str]
    begin: str = ""
    end: str = ""


_BEGIN = datetime(2020, 9, 15, 14, 29, 13)


def written_at(number: int, chance: Random) -> datetime:
    return _BEGIN + timedelta(seconds=0.36 * number, microseconds=chance.randrange(1000))


def logged_at(number: int, chance: Random) -> str:
    """As Python's logging writes the time."""
    now = written_at(number, chance)
    return f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03d}"


def a_rate(chance: Random) -> float:
    return chance.uniform(370, 380)


def a_loss(chance: Random) -> float:
    return chance.uniform(0.5, 9.9)

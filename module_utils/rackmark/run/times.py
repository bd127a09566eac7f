"""Lengths of time as people write them: 150s, 90m, 12h."""

from __future__ import annotations

import math
import re

_SECONDS = {"s": 1, "m": 60, "h": 3600}
_FORM = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([smh])\s*")


def seconds_of(text: str) -> float:
    match = _FORM.fullmatch(text)
    if match is None or not float(match[1]):
        raise ValueError(f"{text!r} is no length of time: write a number above 0 and its unit, as in 150s, 90m or 12h.")
    return float(match[1]) * _SECONDS[match[2]]


def seconds_of_hours(text: str) -> float:
    """Of -e hours=."""
    try:
        hours = float(text)
    except ValueError:
        hours = math.nan
    if not 0 < hours <= 10_000:
        raise ValueError(f"hours={text} is no number of hours: give one above 0, as in 12 or 0.5.")
    return hours * 3600


def duration_in_words(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.4g} {unit}"
    return f"{seconds:.4g} s"

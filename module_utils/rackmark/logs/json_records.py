"""JSON inside log lines, which nobody promises to be well formed, finite or of a sensible size."""

from __future__ import annotations

import json
import math
from typing import Any, Mapping

_DECODER = json.JSONDecoder()
_LARGEST = 1e18


def first_record(text: bytes) -> Mapping[str, Any] | None:
    """The object that the text begins with, whatever comes after it; None where there is no whole one."""
    try:
        value, _ = _DECODER.raw_decode(text.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def number(value: object) -> float | None:
    """None is what is no number to calculate with: a text, a truth value, nan, infinity, thousands of digits."""
    if (type(value) is int or type(value) is float) and -_LARGEST < value < _LARGEST:
        return float(value)
    return None


def positive(value: object) -> float | None:
    found = number(value)
    return found if found is not None and found > 0 else None


def mapping(value: object) -> Mapping[str, Any]:
    """Nothing where there is something else."""
    return value if isinstance(value, dict) else {}


def loss(value: object) -> float:
    """As a series holds it: nan where there is none, infinity where it is not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return math.inf
    found = number(value)
    return math.nan if found is None else found

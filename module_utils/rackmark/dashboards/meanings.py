"""What numbers mean: colours from a value on, words instead of a value."""

from __future__ import annotations

from typing import Any, Mapping

Json = Mapping[str, Any]

GREEN, YELLOW, ORANGE, RED, BLUE = "green", "yellow", "orange", "red", "blue"


def thresholds(base: str, *steps: tuple[float, str]) -> Json:
    """Colours of values: `base` below the first step, then that of the last step reached."""
    first = {"color": base, "value": None}
    return {"mode": "absolute", "steps": [first, *({"color": color, "value": value} for value, color in steps)]}


def limits(high: float, too_high: float) -> Json:
    return thresholds(GREEN, (high, YELLOW), (too_high, RED))


NONE_IS_GOOD = thresholds(GREEN, (1, RED))
PLAIN = thresholds(BLUE)


def words(meanings: Mapping[int, tuple[str, str]]) -> Json:
    """What to show, and in which colour, instead of a number."""
    options = {
        str(value): {"text": text, "color": color, "index": place}
        for place, (value, (text, color)) in enumerate(meanings.items())
    }
    return {"type": "value", "options": options}


UP_OR_DOWN = words({1: ("up", GREEN), 0: ("down", RED)})

"""Numbers in words: the same rounding on the terminal and in every report."""

from __future__ import annotations

from typing import Callable, Sequence, TypeVar

_Value = TypeVar("_Value")

MISSING = "\N{EN DASH}"
WIDEST = 78  # of 80 columns: lines of a playbook are indented by two
GAP = 2


def aligned(heading: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str] = ()) -> list[str]:
    """A table for a terminal, which may have no more than 80 columns: where it would be wider, columns of `spare` are
    left out, the first one first. Pages have them all."""
    lines = [heading, *rows]
    widths = {name: max(len(cells[place]) for cells in lines) for place, name in enumerate(heading)}
    for name in spare:
        if sum(widths.values()) + GAP * (len(widths) - 1) > WIDEST:
            widths.pop(name, None)
    places = [place for place, name in enumerate(heading) if name in widths]
    return [_aligned([cells[place] for place in places], list(widths.values())) for cells in lines]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Words to the left, which are the first and the last column, numbers to the right."""
    first, *numbers, last = cells
    padded = [number.rjust(width) for number, width in zip(numbers, widths[1:-1])]
    return (" " * GAP).join([first.ljust(widths[0]), *padded, last])


def quantity(value: float) -> str:
    """At least three digits that count; more would suggest a precision that no benchmark has."""
    size = abs(value)
    return f"{value:,.{0 if size >= 10000 else 1 if size >= 100 else 2 if size >= 10 else 3}f}"


def interval(bounds: Sequence[float]) -> str:
    low, high = bounds
    return f"{quantity(low)} \N{EN DASH} {quantity(high)}"


def factor(value: float) -> str:
    return f"{value:.2f}"


def percent(value: float) -> str:
    return f"{value * 100:.1f} %"


def signed(fraction: float) -> str:
    return f"{fraction * 100:+,.1f} %"


def signed_interval(bounds: Sequence[float]) -> str:
    low, high = bounds
    return f"{low * 100:+,.1f} to {high * 100:+,.1f} %"


def spread(value: float) -> str:
    return f"{value:.3f}"


def duration(seconds: float) -> str:
    """Three digits, in the unit that suits the size."""
    value, unit = (seconds, "s") if seconds >= 0.9995 else (seconds * 1000, "ms")
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"


def minutes(seconds: float) -> str:
    return quantity(seconds / 60)


def kilojoules(joules: float) -> str:
    return quantity(joules / 1000)


def inverse(value: float) -> str:
    return quantity(1 / value)


def listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def or_missing(value: _Value | None, words: Callable[[_Value], str]) -> str:
    return MISSING if value is None else words(value)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

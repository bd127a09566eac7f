"""What the versions of AIPerf ask of a valid run, and how each of them shows its numbers. `lab` is Rackmark's own, for
searches of minutes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Sequence

from .score import Grid, Point

# Bits of a number in a precision.
_BITS = {"fp64": 64, "fp32": 32, "tf32": 32, "fp16": 16, "bf16": 16, "fp8": 8, "int8": 8, "int4": 4}
# What AIPerf's report says, by the rule that was not kept; it has none for precision.
_OF_AIPERF = {
    "accuracy": "!!! Test failed due to low accuracy !!!",
    "hours": "!!! Test failed without running enough time !!!",
}


@dataclass(frozen=True)
class Column:
    """`number` is a field of a point; it is divided by `unit` and shown with so many `decimals`."""

    title: str
    number: str
    unit: float
    decimals: int


@dataclass(frozen=True)
class Profile:
    name: str
    accuracy_percent: float
    hours: float
    precision: str
    grid: Grid
    columns: Sequence[Column]


_HOURLY = Grid(first=3600, step=3600)
_IN_PFLOPS = (
    Column("Time (h)", "hours", 1, 2),
    Column("Error (%)", "error", 1, 2),
    Column("PFLOPS", "gflops", 1e6, 2),
    Column("Score (PFLOPS)", "regulated", 1e6, 2),
)
_IN_GFLOPS = (
    Column("Time (h)", "hours", 1, 2),
    Column("Error (%)", "error", 1, 2),
    Column("Score (GFLOPS)", "gflops", 1, 1),
    Column("Regulated score (GFLOPS)", "regulated", 1, 1),
)
_IN_MINUTES = (Column("Time (min)", "hours", 1 / 60, 2), *_IN_GFLOPS[1:])
PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("aah", 65, 12, "fp16", _HOURLY, _IN_PFLOPS),
        Profile("aiperf-1.0", 65, 6, "fp16", _HOURLY, _IN_PFLOPS),
        Profile("aiperf", 70, 1, "fp16", Grid(first=720, step=360), _IN_GFLOPS),
        Profile("lab", 70, 90 / 3600, "fp16", Grid(first=10, step=10), _IN_MINUTES),
    )
}


def find_profile(name: str) -> Profile:
    if name not in PROFILES:
        raise ValueError(f"There is no rule profile {name!r}: the known ones are {', '.join(PROFILES)}.")
    return PROFILES[name]


def sentence_of_aiperf(rule: str) -> str | None:
    """`rule` is accuracy, hours or precision."""
    return _OF_AIPERF.get(rule)


def failed_rules(profile: Profile, final: Point | None, precision: str | None) -> list[str]:
    return list(broken_rules(profile, final, precision).values())


def broken_rules(
    profile: Profile, final: Point | None, precision: str | None, hours: float | None = None
) -> dict[str, str]:
    """A sentence for each rule that is not kept, by the name of the rule. A value that is not known keeps no rule;
    exactly what is asked for does. `hours` are those of a search that went on after the last epoch of its score."""
    failed = {}
    percent = final.accuracy * 100 if final else None
    if hours is None and final:
        hours = final.hours
    if percent is None or not percent >= profile.accuracy_percent:
        found = _digits_that_tell(percent, profile.accuracy_percent, "%")
        failed["accuracy"] = _sentence("best accuracy", found, profile, f"{profile.accuracy_percent:g} %")
    if hours is None or not hours >= profile.hours:
        each, unit = (1, "h") if profile.hours >= 1 else (3600, "s")
        found = _digits_that_tell(None if hours is None else hours * each, profile.hours * each, unit)
        failed["hours"] = _sentence("running time", found, profile, f"{profile.hours * each:g} {unit}")
    if precision not in _BITS or _BITS[precision] < _BITS[profile.precision]:
        failed["precision"] = _sentence("precision", precision or "not known", profile, profile.precision)
    return failed


def shown(profile: Profile, point: Point) -> list[str]:
    """The numbers of a point in the columns of the profile, with its rounding; what has no value is an en dash."""
    return [_text(getattr(point, column.number), column) for column in profile.columns]


def _text(number: float | None, column: Column) -> str:
    return "–" if number is None else f"{number / column.unit:.{column.decimals}f}"  # noqa: RUF001


def _sentence(what: str, found: str, profile: Profile, asked: str) -> str:
    return f"The {what} is {found}, {profile.name} asks for at least {asked}."


def _digits_that_tell(value: float | None, asked: float, unit: str) -> str:
    """Two decimals, or as many as it takes to see that the value is below what is asked for."""
    if value is None:
        return "not known"
    texts = (f"{value:.{digits}f}" for digits in range(2, 12))
    return f"{next((text for text in texts if float(text) < asked), repr(value))} {unit}"

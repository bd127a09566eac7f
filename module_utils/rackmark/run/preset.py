"""Named sizes of a workload, as workload.yml declares them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, NamedTuple

from . import program, rules
from .keys import Keys
from .measures import KINDS_OF_STEPS
from .rules import Condition
from .times import seconds_of


class Installed(NamedTuple):
    """Data that a package of the distribution puts into a folder of every node."""

    package: str
    folder: str


@dataclass(frozen=True)
class Preset:
    """Named sizes. `batch` may depend on the precision. None, 0 and "" are sizes that there are not.

    `duration` are the seconds that a search lasts, `data` is what it reads where nobody names other data.
    """

    name: str
    cases: str
    batch: int | Mapping[str, int] | None
    precision: str
    warmup: int
    steps: int
    repeats: int
    minutes: int
    stalled_after: int
    settings: Mapping[str, object]
    target: Condition | None
    duration: float
    data: Installed | None


def preset_from(name: str, keys: Keys, kind: str) -> Preset:
    of_steps = kind in KINDS_OF_STEPS
    preset = Preset(
        name=name,
        cases=keys.text("cases", ""),
        batch=_batch(keys, of_steps),
        precision=keys.text("precision", None if of_steps else ""),
        warmup=keys.number("warmup", 0, default=None if kind == "steps" else 0),
        steps=keys.number("steps", 1 if of_steps else 0, default=None if of_steps else 0),
        repeats=keys.number("repeats"),
        minutes=keys.number("minutes"),
        stalled_after=keys.number("stalled_after"),
        settings=_settings(keys),
        target=_target(keys, kind),
        duration=_duration(keys, kind),
        data=_installed(keys),
    )
    keys.no_more()
    return preset


def _batch(keys: Keys, needed: bool) -> int | Mapping[str, int] | None:
    if isinstance(keys.raw("batch"), dict):
        by_precision = keys.within("batch")
        return {precision: by_precision.number(precision) for precision in by_precision.names()}
    return keys.number("batch") if needed or "batch" in keys else None


def _settings(keys: Keys) -> dict[str, object]:
    settings = keys.values("settings")
    for name in settings.keys() & set(program.PLACEHOLDERS):
        keys.problems.append(f"{keys.at('settings')}.{name} has the name of something else in braces: rename it.")
    return settings


def _target(keys: Keys, kind: str) -> Condition | None:
    text = keys.text("target", "")
    if not text:
        return None
    if kind != "target":
        keys.wrong("target", f"has no use with measure: {kind}.")
    try:
        return rules.target(text)
    except ValueError as error:
        keys.problems.append(f"{keys.at('target')}: {error}")
        return None


def _duration(keys: Keys, kind: str) -> float:
    text = keys.text("duration", "")
    if not text:
        return 0.0
    if kind != "search":
        keys.wrong("duration", f"has no use with measure: {kind}.")
    try:
        return seconds_of(text)
    except ValueError as error:
        keys.problems.append(f"{keys.at('duration')}: {error}")
        return 0.0


def _installed(keys: Keys) -> Installed | None:
    if "data" not in keys:
        keys.raw("data")
        return None
    data = keys.within("data")
    found = Installed(data.text("package"), data.text("folder"))
    data.no_more()
    return found

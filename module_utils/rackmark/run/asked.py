"""What an operator asks of a run, and the sentences that refuse a value of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Sequence, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True)
class Asked:
    """What the operator gave; an empty string means the preset's or the workload's value. Without a preset, it is that
    which the cases' model stands for, or `full`.

    `settings` replace single sizes of the preset, `flags` are added to the program's words.
    """

    nodes: str = ""
    cases: str = ""
    repeats: str = ""
    batch: str = ""
    precision: str = ""
    framework: str = ""
    preset: str = ""
    scaling: str = ""
    baseline: str = ""
    data: str = ""
    steps: str = ""
    warmup: str = ""
    hours: str = ""
    minutes: str = ""
    stalled_after: str = ""
    rules: str = ""
    target: str = ""
    require_target: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    flags: Sequence[str] = ()


def one_of(what: str, name: str, known: Mapping[str, Value]) -> Value:
    if name not in known:
        raise ValueError(f"{what}={name} is unknown: use {listed(known)}.")
    return known[name]


def number(what: str, value: str | int, least: int = 1) -> int:
    text = str(value)
    if not text.isdecimal() or int(text) < least:
        raise ValueError(f"{what}={value} is not a whole number of at least {least}.")
    return int(text)


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))

"""Conditions on numbers of a repeat: rules that make its result valid, and the target that a training runs to."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Collection

from .keys import did_you_mean

BUILT_IN = ("hours", "minutes", "steps", "trials", "precision")
TARGETS = {"accuracy": ">=", "loss": "<="}
# The higher, the more precise; bf16 and fp16 count alike.
PRECISIONS = {"int8": 1, "fp8": 2, "fp16": 3, "bf16": 3, "tf32": 4, "fp32": 5, "fp64": 6}

_FORM = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?P<sense>[<>]=)\s*(?P<bound>\S+)\s*")


@dataclass(frozen=True)
class Condition:
    """`bound` is a number; of a precision it is the name of one. A number in a text is written as the file has it."""

    name: str
    sense: str
    bound: float | str

    def __str__(self) -> str:
        bound = self.bound if isinstance(self.bound, str) else f"{self.bound:.15g}"
        return f"{self.name} {self.sense} {bound}"

    def holds(self, value: float | str) -> bool:
        """`value` is a number, or the name of a precision; a name that is not known holds nothing."""
        found, bound = _rank(value), _rank(self.bound)
        if found is None or bound is None:
            return False
        return found >= bound if self.sense == ">=" else found <= bound


def condition(text: str) -> Condition:
    """Reads `accuracy >= 0.72`, `hours >= 6`, `precision >= bf16`."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a rule: write <name> >= <number> or <name> <= <number>.")
    name, sense, bound = match["name"], match["sense"], match["bound"]
    if name == "precision":
        if bound not in PRECISIONS:
            raise ValueError(f"{text!r} names a precision {bound} that is unknown: {did_you_mean(bound, PRECISIONS)}")
        return Condition(name, sense, bound)
    try:
        number = float(bound)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a rule: {bound} is not a number.")
    return Condition(name, sense, number)


def rule(text: str, measures: Collection[str], kind: str) -> Condition:
    """`measures` are the names of a workload's measures, `kind` is its `measure`."""
    found = condition(text)
    known = [*measures, *(name for name in BUILT_IN if name not in _not_counted(kind))]
    if found.name not in known:
        raise ValueError(
            f"{text!r} cannot be computed: {found.name} is no measure of this workload. {_sentence(found.name, known)}"
        )
    return found


def target(text: str) -> Condition:
    """Reads what a training runs to, `accuracy >= 0.72` or `loss <= 1.0`."""
    wrong = f"{text!r} is not a target: write accuracy >= <number> or loss <= <number>."
    try:
        found = condition(text)
    except ValueError:
        raise ValueError(wrong) from None
    if TARGETS.get(found.name) != found.sense:
        raise ValueError(wrong)
    return found


def _not_counted(kind: str) -> Collection[str]:
    return {"steps": ("trials",), "target": ("trials",), "stated": ("trials", "steps"), "search": ("steps",)}[kind]


def _sentence(name: str, known: Collection[str]) -> str:
    said = did_you_mean(name, known)
    return said[0].upper() + said[1:]


def _rank(value: float | str) -> float | None:
    return PRECISIONS.get(value) if isinstance(value, str) else value

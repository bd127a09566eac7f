"""What workload.yml declares: how a program is started, what it measures, and the sizes that it is measured with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Collection, Mapping

from ..node.job_record import DATA, MEET, RANKS
from . import program, rules
from .framework import Common, Dialects, Framework, default_meet, framework_from
from .keys import Keys, Lines, Problems, told
from .measures import KINDS, Measure, default_measure, measures_from
from .preset import Preset, preset_from
from .rules import Condition

SCALINGS = ("strong", "weak")
DEFAULT_PROFILE = "default"

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Workload:
    """`measure` is the kind of measurement, `measures` are the numbers that it gives, `headline` names one of them.

    `rules` are by profile; a plain list in the file is the profile `default`. `shared` is a folder whose files travel
    beside the workload's own.
    """

    name: str
    title: str
    also_called: tuple[str, ...]
    scaling: str
    measure: str
    measures: Mapping[str, Measure]
    headline: str
    data: str
    rules: Mapping[str, tuple[Condition, ...]]
    shared: str | None
    default_framework: str
    frameworks: Mapping[str, Framework]
    presets: Mapping[str, Preset]

    @property
    def unit(self) -> str:
        return self.measures[self.headline].unit


def workload_from(
    content: object, where: str = "workload.yml", dialects: Dialects | None = None, lines: Lines = dict
) -> Workload:
    """Fails with a sentence for each thing that is wrong. Dialects are checked where it is known which there are."""
    problems: Problems = []
    if not isinstance(content, dict):
        raise ValueError(f"{where} is not a mapping of names to values.")
    workload = _workload(Keys(content, "", problems), dialects)
    if problems:
        raise told(problems, where, lines)
    return workload


def _workload(keys: Keys, dialects: Dialects | None) -> Workload:
    measure = keys.one_of("measure", KINDS, "steps")
    measures, headline = _measures(keys, measure)
    presets = {name: preset_from(name, preset, measure) for name, preset in keys.some("presets").items()}
    ranks = keys.one_of("ranks", RANKS, "device")
    common = Common(
        dialects=dialects,
        ranks=ranks,
        meet=keys.one_of("meet", MEET, default_meet(ranks)),
        data=keys.one_of("data", DATA, "none"),
        names={*program.PLACEHOLDERS, *(name for preset in presets.values() for name in preset.settings)},
        measures=measures,
        measure=measure,
    )
    frameworks = {name: framework_from(name, each, common) for name, each in keys.some("frameworks").items()}
    workload = Workload(
        name=_name(keys),
        title=keys.text("title"),
        also_called=keys.words("also_called", ()),
        scaling=keys.one_of("scaling", SCALINGS, "weak"),
        measure=measure,
        measures=measures,
        headline=headline,
        data=common.data,
        rules=_rules(keys, measures, measure),
        shared=keys.optional_text("shared"),
        default_framework=_default(keys, "default_framework", frameworks),
        frameworks=frameworks,
        presets=presets,
    )
    keys.no_more()
    return workload


def _name(keys: Keys) -> str:
    name = keys.text("name")
    if name and not _NAME.fullmatch(name):
        keys.wrong("name", "is not a name: use letters, digits, dots, _ and -, and begin with no dot.")
    return name


def _measures(keys: Keys, kind: str) -> tuple[dict[str, Measure], str]:
    if "measures" in keys or kind == "search":
        measures = measures_from(keys.some("measures"), kind)
        if "unit" in keys:
            keys.wrong("unit", "has no use beside measures, which have a unit each: leave it out.")
        keys.raw("unit")
        return measures, _default(keys, "headline", measures)
    throughput = default_measure(kind, keys.text("unit"))
    keys.raw("measures")
    return {throughput.name: throughput}, keys.one_of("headline", (throughput.name,), throughput.name)


def _default(keys: Keys, name: str, known: Collection[str]) -> str:
    """One of several has to be named; where there is only one, it is that."""
    if not known:
        keys.raw(name)
        return ""
    return keys.one_of(name, known, next(iter(known)) if len(known) == 1 else None)


def _rules(keys: Keys, measures: Collection[str], kind: str) -> dict[str, tuple[Condition, ...]]:
    """By profile."""
    if isinstance(keys.raw("rules"), dict):
        profiles = keys.within("rules")
        return {name: _conditions(profiles, name, measures, kind) for name in profiles.names()}
    found = _conditions(keys, "rules", measures, kind)
    return {DEFAULT_PROFILE: found} if found else {}


def _conditions(keys: Keys, name: str, measures: Collection[str], kind: str) -> tuple[Condition, ...]:
    found = []
    for text in keys.words(name, ()):
        try:
            found.append(rules.rule(text, measures, kind))
        except ValueError as error:
            keys.problems.append(f"{keys.at(name)}: {error}")
    return tuple(found)

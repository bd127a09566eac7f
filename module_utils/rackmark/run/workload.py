"""What workload.yml declares: how a program is started, what it measures, and the sizes that it is measured with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Collection, Iterable, Mapping, NamedTuple

from ..node.job_record import DATA, MEET, RANKS
from . import program, rules
from .framework import Common, Dialects, Framework, default_meet, framework_from
from .keys import Keys, Lines, Problems, told
from .measures import KINDS, Measure, default_measure, measures_from
from .preset import Preset, preset_from
from .rules import Condition

SCALINGS = ("strong", "weak")
DEFAULT_PROFILE = "default"
DEFAULT_PRESET = "full"
NODES = ("together", "independent")
RESULTS = {"logs": KINDS, "aiperf": ("search",), "ais-bench": ("stated",)}  # and what each can be the result of

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")


class Model(NamedTuple):
    """What a name in a case string stands for: a workload's folder, and one of its presets or none in particular."""

    folder: str
    preset: str


@dataclass(frozen=True)
class Workload:
    """`measure` is the kind of measurement, `measures` are the numbers that it gives, `headline` names one of them.

    `rules` are by profile; a plain list in the file is the profile `default`. `also_called` has the preset that each
    name stands for, empty where it stands for none of them. `shared` is a folder whose files travel beside the
    workload's own. Nodes that are `independent` go on without one that is lost. `result` says what holds the numbers:
    the `logs`, the folder of an experiment in the form of `aiperf`, or the files of an `ais-bench` training.
    """

    name: str
    title: str
    also_called: Mapping[str, str]
    scaling: str
    measure: str
    measures: Mapping[str, Measure]
    headline: str
    data: str
    rules: Mapping[str, tuple[Condition, ...]]
    shared: str | None
    independent: bool
    result: str
    default_preset: str
    default_framework: str
    frameworks: Mapping[str, Framework]
    presets: Mapping[str, Preset]

    @property
    def unit(self) -> str:
        return self.measures[self.headline].unit

    def instead_of(self, framework: str, device: str) -> list[str]:
        """Options of a run that do without the environment of a framework, where it cannot be built."""
        others = [name for name, other in self.frameworks.items() if name != framework and other.runs_on(device)]
        return [*(f"-e framework={name}" for name in others), "-e runtime=docker and an image that has it"]

    def preset_of(self, models: Iterable[str | None]) -> Preset:
        """What runs where nobody has named a preset. `models` are those of the cases, None where a case names none."""
        named = {self.also_called.get(model or "") or self.default_preset for model in models}
        named = named or {self.default_preset}
        if len(named) > 1:
            raise ValueError(
                f"A run has one preset, and the cases are of {', '.join(sorted(named))}: playbooks/suite.yml starts"
                " a run for each."
            )
        (preset,) = named
        if preset not in self.presets:
            raise ValueError(
                f"{self.name} has no preset {preset}: choose one of {', '.join(sorted(self.presets))} with -e preset=."
            )
        return self.presets[preset]


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
        also_called=_also_called(keys, presets),
        scaling=keys.one_of("scaling", SCALINGS, "weak"),
        measure=measure,
        measures=measures,
        headline=headline,
        data=common.data,
        rules=_rules(keys, measures, measure),
        shared=keys.optional_text("shared"),
        independent=_independent(keys, ranks, common.meet),
        result=_result(keys, measure),
        default_preset=keys.one_of("default_preset", presets, DEFAULT_PRESET) or DEFAULT_PRESET,
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


def _also_called(keys: Keys, presets: Collection[str]) -> dict[str, str]:
    if not isinstance(keys.raw("also_called"), dict):
        return presets_by_name(keys.words("also_called", ()))
    names = keys.within("also_called")
    return {name: names.one_of(name, presets) for name in names.names()}


def presets_by_name(also_called: Collection[str]) -> dict[str, str]:
    """Of a list of names, or of a mapping from names to presets."""
    return dict(also_called) if isinstance(also_called, Mapping) else dict.fromkeys(also_called, "")


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


def _independent(keys: Keys, ranks: str, meet: str) -> bool:
    independent = keys.one_of("nodes", NODES, NODES[0]) == "independent"
    if independent and (ranks, meet) != ("node", "none"):
        keys.wrong("nodes", "takes ranks: node and meet: none: processes that meet end together.")
    return independent


def _result(keys: Keys, measure: str) -> str:
    result = keys.one_of("result", RESULTS, "logs")
    if result in RESULTS and measure not in RESULTS[result]:
        keys.wrong("result", f"has no use with measure: {measure}.")
    return result


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

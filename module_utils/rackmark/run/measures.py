"""The numbers that a workload declares: their unit, which way is better, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Collection, Mapping

from .keys import Keys, did_you_mean

KINDS = ("steps", "target", "stated", "search")
KINDS_OF_STEPS = ("steps", "target")
BETTER = ("higher", "lower")
OVER = ("sum", "mean", "median", "min", "max", "first")

_OF_STEPS = ("throughput", "whole", "no_eval", "loss", "accuracy")
_PLAIN_SOURCES: Mapping[str, Collection[str]] = {
    "steps": _OF_STEPS,
    "target": (*_OF_STEPS, "time_to_target"),
    "stated": (),
    "search": ("trials", "trials.failed"),
}
STATED = "stated."
TRIALS = "trials."
TIME_TO_TRAIN = "time_to_train"


@dataclass(frozen=True)
class Measure:
    """`source` is what the file calls `from`. `over` says how several values of one repeat become one, and `means`
    in words how a program comes to the number.

    A source is a number that steps and evaluations give (throughput, whole, no_eval, loss, accuracy, time_to_target),
    `stated.<word>`, which the program or its log states, or trials, trials.failed and `trials.<word>` of a search.
    """

    name: str
    unit: str
    better: str
    source: str
    over: str = "first"
    means: str = ""

    @property
    def word(self) -> str:
        """What a program calls the number that it states, or that a trial had."""
        return self.source.partition(".")[2]

    def data(self) -> dict[str, str]:
        told = {"unit": self.unit, "better": self.better, "from": self.source, "over": self.over}
        return {**told, "means": self.means} if self.means else told


def default_measure(kind: str, unit: str) -> Measure:
    return Measure("throughput", unit, "higher", "stated.throughput" if kind == "stated" else "throughput")


def with_time_to_target(measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """What every training to a target measures, if the workload does not declare it by another name."""
    if any(measure.source == "time_to_target" for measure in measures.values()):
        return dict(measures)
    return {**measures, TIME_TO_TRAIN: Measure(TIME_TO_TRAIN, "s", "lower", "time_to_target")}


def measures_from(sections: Mapping[str, Keys], kind: str) -> dict[str, Measure]:
    """`kind` is the workload's `measure`, which decides what there is to be measured."""
    return {name: _measure(name, keys, kind) for name, keys in sections.items()}


def _measure(name: str, keys: Keys, kind: str) -> Measure:
    better = keys.one_of("better", BETTER)
    source = keys.text("from")
    unit = keys.text("unit")
    over = keys.one_of("over", OVER, _default_over(source, better))
    if source and not _is_source(source, kind):
        keys.wrong("from", f"is nothing that measure: {kind} gives: {_sources(source, kind)}")
    elif source and "over" in keys and source in _PLAIN_SOURCES[kind]:
        keys.wrong("over", f"is of no use: {source} is one number already. Leave it out.")
    means = keys.text("means", "")
    keys.no_more()
    return Measure(name, unit, better, source, over, means)


def recorded_measures(content: Mapping[str, Mapping[str, str]]) -> dict[str, Measure]:
    """Those of a manifest, which may be of a later version and name a source that this one does not know."""
    return {
        name: Measure(
            name, entry["unit"], entry["better"], entry["from"], entry.get("over", "first"), entry.get("means", "")
        )
        for name, entry in content.items()
    }


def _default_over(source: str, better: str) -> str:
    if source.startswith(TRIALS) and source != "trials.failed":
        return "min" if better == "lower" else "max"
    return "first"


def _is_source(source: str, kind: str) -> bool:
    if source in _PLAIN_SOURCES[kind]:
        return True
    start, dot, word = source.partition(".")
    return bool(dot) and word.isidentifier() and (start == "stated" or (start == "trials" and kind == "search"))


def _sources(source: str, kind: str) -> str:
    forms = ["stated.<word>", *(["trials.<word>"] if kind == "search" else [])]
    return did_you_mean(source, [*_PLAIN_SOURCES[kind], *forms])

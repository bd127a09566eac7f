"""One way to run a workload, as workload.yml declares it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Collection, Mapping, Optional

from ..node.job_record import MEET, RANKS
from . import program
from .keys import Keys, did_you_mean
from .measures import Measure
from .software import Software, images_from, precisions_from, software_from

# Words that logs of each dialect can state; None for whatever a program chooses.
Dialects = Mapping[str, Optional[Collection[str]]]


@dataclass(frozen=True)
class Framework:
    """One way to run the workload. `program` is a template, to which `data_options` are added for data of one's own
    and `target_options` for a target, of a workload that else trains a number of steps.

    `precisions` and `images` are by kind of device; without precisions, every device will do.
    """

    name: str
    program: str
    data_options: str
    target_options: str
    dialect: str
    dlperf_model: str | None
    ranks: str
    meet: str
    precisions: Mapping[str, tuple[str, ...]]
    images: Mapping[str, str]
    software: Software

    def runs_on(self, device: str) -> bool:
        return not self.precisions or device in self.precisions


@dataclass(frozen=True)
class Common:
    """What the rest of the file says, against which a framework is held. `names` may stand in braces."""

    dialects: Dialects | None
    ranks: str
    meet: str
    data: str
    names: Collection[str]
    measures: Mapping[str, Measure]
    measure: str


def default_meet(ranks: str) -> str:
    return "none" if ranks == "job" else "torch"


def framework_from(name: str, keys: Keys, common: Common) -> Framework:
    keys.renamed("command", "program")
    ranks = keys.one_of("ranks", RANKS, common.ranks)
    meet = keys.one_of("meet", MEET, common.meet if ranks == common.ranks else default_meet(ranks))
    if ranks == "job" and meet != "none":
        keys.problems.append(
            f"{keys.at('meet')} is {meet}, and with ranks: job the program starts its own ranks: leave it out."
        )
    framework = Framework(
        name=name,
        program=_template(keys, "program", common.names),
        data_options=_template(keys, "data_options", common.names, optional=True),
        target_options=_template(keys, "target_options", common.names, optional=True),
        dialect=keys.text("dialect") if common.dialects is None else keys.one_of("dialect", common.dialects),
        dlperf_model=keys.optional_text("dlperf_model"),
        ranks=ranks,
        meet=meet,
        precisions=precisions_from(keys, "precisions"),
        images=images_from(keys, "image"),
        software=software_from(keys.within("environment", {})),
    )
    _check_dialect(keys, framework.dialect, common)
    if ranks != "job" and "{hostfile}" in framework.program:
        keys.problems.append(f"{keys.at('program')} has {{hostfile}}, which only ranks: job has.")
    if framework.data_options and common.data == "none":
        keys.problems.append(f"{keys.at('data_options')} has no use: say with data which kind of data it takes.")
    if framework.target_options and common.measure != "steps":
        keys.problems.append(f"{keys.at('target_options')} has no use with measure: {common.measure}.")
    keys.no_more()
    return framework


def _check_dialect(keys: Keys, dialect: str, common: Common) -> None:
    stated = (common.dialects or {}).get(dialect)
    if stated is None:
        return
    for measure in common.measures.values():
        if measure.word and measure.word not in stated:
            keys.problems.append(
                f"{keys.at('dialect')} is {dialect}, which never gives {measure.source}, where the measure"
                f" {measure.name} comes from: it states {', '.join(stated)}."
            )


def _template(keys: Keys, name: str, known: Collection[str], optional: bool = False) -> str:
    template = keys.text(name, "" if optional else None)
    try:
        unknown = sorted(program.names_in(template) - set(known))
        program.words_in(template)
    except ValueError as error:
        keys.wrong(name, str(error))
        return ""
    for each in unknown:
        keys.problems.append(
            f"{keys.at(name)} has {{{each}}}, which is no setting of a preset: {did_you_mean(each, known)}"
        )
    return template

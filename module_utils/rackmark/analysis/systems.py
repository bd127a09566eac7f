"""Logs that would be repeats of one case, though their folders say that they are of unlike systems."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import PurePath
from typing import Mapping, Sequence

from ..run.cases import Case
from .arrangement import Repeat, SeriesOfLogs
from .facts_of_case import repeat_folder
from .placing import is_case

_SEVERAL = re.compile(r"[1-9]\d{0,4}x(?=[A-Za-z])")  # 4xR750 is four of what R750 is one of
_LETTERS = re.compile(r"[^\W\d_]+")
# A folder whose name is a number, a date or has no other words than these is one of a repeat, a rank or a day.
_NUMBER_OR_DATE = re.compile(r"r?\d{1,4}|\d{2,4}[\dTZ:._-]*")
_OF_A_REPEAT = re.compile(
    r"runs?|round|rep|repeats?|trials?|job|jobid|slurm|seed|iter|iteration|attempt|try|version|results?|logs?|lightning"
    r"|out|output|stdout|date|utc|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|nodes?|hosts?|ranks?|workers?|server"
    r"|local|proc|process|cases?",
    re.IGNORECASE,
)


def systems_apart(series: SeriesOfLogs) -> list[SeriesOfLogs]:
    """A series for each system, if two of them have logs of the same case."""
    systems = {id(one): _system(one) for repeats in series.cases.values() for one in repeats}
    pooled = next(
        (case for case, repeats in series.cases.items() if len({systems[id(one)] for one in repeats}) > 1), None
    )
    if pooled is None:
        return [series]
    names = sorted(set(systems.values()))
    shown = ", ".join(name or "the folder itself" for name in names[:5]) + (" ..." if len(names) > 5 else "")
    remark = (
        f"The logs of {pooled.name} are in folders of {len(names)} unlike names, {shown}: each is a series, as what is"
        " named otherwise may be another system. Folders that are named like run1 and run2 are repeats."
    )
    by_system: Mapping[str, dict[Case, list[Repeat]]] = defaultdict(dict)
    for case, repeats in series.cases.items():
        for one in repeats:
            by_system[systems[id(one)]].setdefault(case, []).append(one)
    return [_of_system(series, name, cases, remark) for name, cases in sorted(by_system.items())]


def _of_system(series: SeriesOfLogs, name: str, cases: Mapping[Case, Sequence[Repeat]], remark: str) -> SeriesOfLogs:
    key = series.key._replace(tree="/".join(part for part in (series.key.tree, name) if part))
    return replace(series, key=key, cases=cases, remarks=[*series.remarks, remark])


def _system(repeat: Repeat) -> str:
    path = repeat.logs[0].path
    folder = repeat_folder(path) if path.parent.parts else PurePath()
    return "/".join(_SEVERAL.sub("", part) for part in folder.parts if not is_case(part) and not _is_of_repeat(part))


def _is_of_repeat(name: str) -> bool:
    words = _LETTERS.findall(name)
    return _NUMBER_OR_DATE.fullmatch(name) is not None or (all(map(_OF_A_REPEAT.fullmatch, words)) and bool(words))

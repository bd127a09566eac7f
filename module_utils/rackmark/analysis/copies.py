"""Logs with the same content: no two trainings write the same, so that they are one repeat, and of one case."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Sequence

from ..logs.reading import Fault
from ..logs.whole_log import open_whole, unpacked_size
from ..run.cases import Case
from .arrangement import Repeat, SeriesOfLogs

_PIECE = 1 << 20


class _Placed(NamedTuple):
    case: Case
    repeat: Repeat


def without_copies(root: Path, series: SeriesOfLogs) -> SeriesOfLogs:
    """The first of the repeats with the same content stays; where they are of two cases none of them counts."""
    placed = [_Placed(case, repeat) for case, repeats in series.cases.items() for repeat in repeats]
    dropped: dict[int, str] = {}
    faulty: dict[int, Fault] = {}
    for alike in _alike(root, placed):
        first, *others = alike
        for one in others:
            if one.case == first.case:
                dropped[id(one.repeat)] = f"{_name(one)} is a copy of {_name(first)}: both are one repeat."
        cases = {one.case.name: one for one in alike}
        if len(cases) > 1:
            what = " and ".join(f"{_name(one)} of {case}" for case, one in cases.items())
            fault = Fault("rule_failed", f"{what} are the same log: it can be of one case only.")
            faulty.update((id(one.repeat), fault) for one in alike)
    cases_left = {
        case: [_with_fault(one, faulty.get(id(one))) for one in repeats if id(one) not in dropped]
        for case, repeats in series.cases.items()
    }
    return replace(series, cases=cases_left, remarks=[*series.remarks, *_said(list(dropped.values()))])


def _alike(root: Path, placed: Sequence[_Placed]) -> list[list[_Placed]]:
    """What differs in size needs not be read for that."""
    by_size: dict[tuple[int, ...], list[_Placed]] = defaultdict(list)
    for one in placed:
        sizes = _sizes(root, one.repeat)
        if sizes is not None:
            by_size[sizes].append(one)
    found = []
    for same_size in by_size.values():
        by_content: dict[tuple[bytes, ...], list[_Placed]] = defaultdict(list)
        for one in same_size if len(same_size) > 1 else ():
            by_content[tuple(_digest(root / log.path) for log in one.repeat.logs)].append(one)
        found += [alike for alike in by_content.values() if len(alike) > 1]
    return found


def _sizes(root: Path, repeat: Repeat) -> tuple[int, ...] | None:
    """None where there is nothing to compare: an empty log, a folder that is a log, a file that is gone."""
    try:
        sizes = tuple(unpacked_size(root / log.path) for log in repeat.logs)
    except OSError:
        return None
    return sizes if all(sizes) and all((root / log.path).is_file() for log in repeat.logs) else None


def _digest(path: Path) -> bytes:
    """The path itself of what cannot be read."""
    content = hashlib.blake2b()
    try:
        with open_whole(path) as file:
            while piece := file.read(_PIECE):
                content.update(piece)
    except OSError:
        return str(path).encode()
    return content.digest()


def _name(one: _Placed) -> str:
    return str(one.repeat.logs[0].path)


def _with_fault(repeat: Repeat, fault: Fault | None) -> Repeat:
    if fault is None:
        return repeat
    first, *others = repeat.logs
    return Repeat(repeat.number, [replace(first, faults=[fault, *first.faults]), *others])


def _said(sentences: Sequence[str]) -> list[str]:
    more = len(sentences) - 3
    return [*sentences[:3], *([f"{more} more logs are copies of others."] if more > 0 else [])]

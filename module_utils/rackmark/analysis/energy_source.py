"""The energy of trainings whose power was metered, from the meters' logs beside those of the trainings.

    results/<system>/<benchmark>/result_0.txt                    the training, from run_start to run_stop
    results/<system>/<benchmark>/power/result_0/node_0.txt ...   a meter each

A folder of meters belongs to the log it is named like, in the folder above it or the one above that; meters in the
folder of a training belong to its log. Only a sum of all meters is the energy of a training.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Iterator, Mapping, Sequence

from ..logs.digest import Digest
from ..logs.log_file import LogFile
from ..logs.reading import ExtraTable
from ..logs.whole_log import open_log
from ..telemetry.metered_energy import Energy, energy, total
from ..telemetry.power_log import read_power_log, read_window

_HEAD = 1 << 14
_KEY = re.compile(rb':::MLLOG .{0,200}?"key": ?"(\w{1,64})"')
_FIRST_KEYS = 3


def is_power_log(path: Path) -> bool:
    """By its first records: the log of a training may hold readings further on."""
    with open_log(path) as file:
        head = file.read(_HEAD)
    keys = [match[1] for match, _ in zip(_KEY.finditer(head), range(_FIRST_KEYS))]
    return any(key.startswith(b"power_") for key in keys)


def with_energies(
    root: Path, logs: Sequence[Digest], meters: Sequence[PurePath]
) -> tuple[Sequence[Digest], Sequence[str]]:
    """The same logs with what their meters say, and a sentence per folder of meters without a log."""
    folders: dict[PurePath, list[PurePath]] = defaultdict(list)
    for meter in meters:
        folders[meter.parent].append(meter)
    by_path: dict[PurePath, list[PurePath]] = defaultdict(list)
    alone = []
    for folder, found in folders.items():
        log = _log_of(folder, [one.path for one in logs])
        if log is None:
            alone.append(_without_log(folder, found))
        else:
            by_path[log] += found
    return [_with_energy(root, one, by_path[one.path]) if one.path in by_path else one for one in logs], alone


def _log_of(folder: PurePath, logs: Sequence[PurePath]) -> PurePath | None:
    beside = [log for log in logs if log.parent == folder]
    above = [[log for log in logs if log.parent == place] for place in list(folder.parents)[:2]]
    for candidates in (
        beside,
        *([log for log in place if log.stem == folder.name] for place in above),
        *([log for log in place if _ends_with(log.stem, folder.name)] for place in above),
    ):
        if len(candidates) == 1:
            return candidates[0]
    return None


def _ends_with(stem: str, name: str) -> bool:
    """training_log_result_0 ends with result_0, test_result_10 does not end with 0."""
    return bool(name) and stem.endswith(f"_{name}")


def _with_energy(root: Path, log: Digest, paths: Sequence[PurePath]) -> Digest:
    window = read_window(_lines(root / log.path))
    if window is None:
        reason = f"{len(paths)} power meters tell no energy: the log has no run_start and run_stop."
        return replace(log, remarks=[*log.remarks, reason])
    names = [path.name for path in paths]
    named = {path.name if names.count(path.name) == 1 else str(path): path for path in paths}
    energies = {name: energy(read_power_log(_lines(root / path)), window) for name, path in named.items()}
    whole = total(energies)
    stated = {name: value for name, value in log.stated.items() if name != "energy_j"}
    if whole.joules is not None:
        stated["energy_j"] = whole.joules
    none = [f"There is no energy of the whole. {whole.reason}"] if whole.joules is None else []
    return replace(
        log,
        stated=stated,
        remarks=[*log.remarks, *none, *_remarks(energies)],
        tables=[*log.tables, _table(energies, window[1] - window[0])],
    )


def _remarks(energies: Mapping[str, Energy]) -> list[str]:
    """Meters that are read at the same times lack the same."""
    meters: dict[str, list[str]] = defaultdict(list)
    for name, one in energies.items():
        for remark in one.remarks:
            meters[remark].append(name)
    return [f"{', '.join(names)}: {remark}" for remark, names in meters.items()]


def _table(energies: Mapping[str, Energy], seconds: float) -> ExtraTable:
    known = {name: one.joules for name, one in energies.items() if one.joules is not None}
    rows = [(name, *_cells(known.get(name), seconds)) for name in energies]
    named = "all" if len(known) == len(energies) else f"{len(known)} of {len(energies)}"
    sums = [(named, *_cells(sum(known.values()), seconds))] if known else []
    return ExtraTable("Energy by meter", ("Meter", "J", "Mean W"), [*rows, *sums])


def _cells(joules: float | None, seconds: float) -> tuple[str | None, str | None]:
    return (None, None) if joules is None else (f"{joules:,.0f}", f"{joules / seconds:,.0f}")


def _lines(path: Path) -> Iterator[str]:
    for piece in LogFile(path).pieces():
        for text in piece.values():
            yield from text.decode(errors="replace").splitlines()


def _without_log(folder: PurePath, found: Sequence[PurePath]) -> str:
    what = f"The log of a power meter, {found[0]}, is" if len(found) == 1 else f"{len(found)} logs of power meters are"
    where = "" if len(found) == 1 else f" in {folder}"
    return f"{what}{where} without that of a training: it would be beside them, or be named like their folder."

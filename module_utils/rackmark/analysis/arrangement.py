"""Puts logs into series, cases and repeats: a series is what may be compared, a repeat has one log or one per rank."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Mapping, NamedTuple, Sequence

from ..logs.digest import Digest
from ..run.cases import Case
from .facts_of_case import repeat_folder, with_facts_of_case
from .options import Options

_DEVICES_OF_A_NODE = 8
_MOST_DEVICES = 1_000_000  # above it a number is no number of devices
_SHOWN = 10
_RANK_IN_NAME = re.compile(r"rank[-_.]?\d+", re.IGNORECASE)


class Key(NamedTuple):
    """What all logs of a series have in common. `tree` is where the folders of its cases are."""

    tree: str
    dialect: str
    framework: str | None
    hardware: str | None
    model: str | None
    batch: int | None
    precision: str | None


@dataclass(frozen=True)
class Repeat:
    number: int
    logs: Sequence[Digest]


@dataclass(frozen=True)
class SeriesOfLogs:
    key: Key
    cases: Mapping[Case, Sequence[Repeat]]
    remarks: Sequence[str]


class Arrangement(NamedTuple):
    """`refused` are sentences on logs that are in no series; there is at least one that is."""

    series: Sequence[SeriesOfLogs]
    refused: Sequence[str]


def arrange(digests: Sequence[Digest], options: Options) -> Arrangement:
    digests = with_facts_of_case(digests)
    remarks: dict[Key, list[str]] = defaultdict(list)
    sorted_logs: dict[Key, dict[Case, list[Digest]]] = defaultdict(lambda: defaultdict(list))
    unplaced = []
    for one in digests:
        placed = _case_of(one, options)
        if placed is None:
            unplaced.append(one)
            continue
        case, remark = placed
        key = _key(one, case, options)
        sorted_logs[key][case].append(one)
        if remark and remark not in remarks[key]:
            remarks[key].append(remark)
    if not sorted_logs:
        raise ValueError(_unplaced(unplaced))
    series = [
        SeriesOfLogs(
            key,
            {case: _repeats(logs) for case, logs in sorted(cases.items(), key=lambda entry: _by_size(entry[0]))},
            remarks[key],
        )
        for key, cases in sorted_logs.items()
    ]
    return Arrangement(series, [_unplaced(unplaced)] if unplaced else [])


def _case_of(one: Digest, options: Options) -> tuple[Case, str | None] | None:
    """The word of the path and of the log, then the operator's; with what had to be assumed."""
    nodes, devices, world = (_count(one.facts.get(name)) for name in ("nodes", "devices_per_node", "world_size"))
    if nodes and devices and nodes * devices <= _MOST_DEVICES:
        said = Case(nodes, devices)
        given = options.case
        if given is None or given == said:
            return said, None
        return said, f"case={given.name} was given for what says no case: that of {said.name} counts."
    if options.case is not None:
        return options.case, None
    if not world or world > _MOST_DEVICES:
        return None
    if nodes and world % nodes == 0:
        return Case(nodes, world // nodes), None
    if devices and world % devices == 0:
        return Case(world // devices, devices), None
    if world <= _DEVICES_OF_A_NODE:
        return Case(1, world), None
    if world % _DEVICES_OF_A_NODE == 0:
        guess = Case(world // _DEVICES_OF_A_NODE, _DEVICES_OF_A_NODE)
        return guess, f"{world} devices are taken as {guess.name}: nothing says how many nodes there were."
    return Case(world, 1), f"{world} devices are taken as one per node: nothing says how many nodes there were."


def _key(one: Digest, case: Case, options: Options) -> Key:
    facts = one.facts
    return Key(
        tree=str(facts.get("tree", "")),
        dialect=one.dialect,
        framework=_text(facts.get("framework")),
        hardware=_text(facts.get("hardware")),
        model=_text(facts.get("model")),
        batch=_batch_per_device(facts, case, options),
        precision=_text(facts.get("precision", options.precision)),
    )


def _batch_per_device(facts: Mapping[str, Any], case: Case, options: Options) -> int | None:
    """The operator's word fills in what nothing says."""
    total = _count(facts.get("global_batch"))
    by_total = total // case.world_size if total and total % case.world_size == 0 else None
    return _count(facts.get("batch")) or by_total or options.batch


def _count(value: object) -> int | None:
    """Logs say anything: true and "8" are no numbers of devices."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _repeats(logs: Sequence[Digest]) -> list[Repeat]:
    """Logs of ranks that lie in one folder are one repeat; the numbers are those of the names if all have one."""
    by_folder: dict[tuple[str, Any], list[Digest]] = defaultdict(list)
    for one in logs:
        of_rank = one.facts.get("rank") is not None
        by_folder[str(repeat_folder(one.path)) if of_rank else str(one.path), one.facts.get("repeat")].append(one)
    together = [(number, found) for (_, number), logs_there in by_folder.items() for found in _apart(logs_there)]
    named = [number for number, _ in together]
    numbers = named if None not in named and len(set(named)) == len(named) else range(1, len(named) + 1)
    repeats = [Repeat(number, sorted(found, key=_by_rank)) for number, (_, found) in zip(numbers, together)]
    return sorted(repeats, key=lambda repeat: repeat.number)


def _apart(logs: Sequence[Digest]) -> list[list[Digest]]:
    """A folder in which ranks occur twice holds several repeats: they are told apart by names without the rank."""
    ranks = [one.facts.get("rank") for one in logs]
    if len(set(ranks)) == len(ranks):
        return [list(logs)]
    by_name: dict[str, list[Digest]] = defaultdict(list)
    for one in logs:
        by_name[_RANK_IN_NAME.sub("", one.path.name)].append(one)
    return list(by_name.values())


def _by_rank(one: Digest) -> int:
    """The first log's word counts, and names of hosts are in any order."""
    rank = one.facts.get("rank")
    return rank if isinstance(rank, int) else 0


def _by_size(case: Case) -> tuple[int, int]:
    return case.world_size, case.nodes


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _unplaced(unplaced: Sequence[Digest]) -> str:
    more = f" and {len(unplaced) - _SHOWN} more" if len(unplaced) > _SHOWN else ""
    return (
        "Neither path nor lines say on how many devices these logs were made:"
        f" {', '.join(str(one.path) for one in unplaced[:_SHOWN])}{more}. Put such logs into folders like 2n8g (2 nodes"
        " with 8 devices each), or say it for all of them with -e case=2n8g."
    )

"""Values of a rank table's JSON, all of which HCCL wants as texts, and servers made of entries in any order."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from .rank_table_model import Device, Server
from .rank_table_rules import listed, shown

_NUMBER = re.compile(r"[0-9]{1,10}")
_LONGEST_SHOWN = 40
_BEGINNINGS = ("the ", "its ", "instance ", "group ", "super pod ")  # others begin with a key of the file


class Place(NamedTuple):
    """What one entry for a device says; None is what it does not say."""

    server: str
    device: Device | None
    rank: int | None
    says: str  # what to call it in sentences


@dataclass
class Notes:
    """What was found while reading."""

    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def problem(self, sentence: str) -> None:
        first = sentence[:1].upper() if sentence.startswith(_BEGINNINGS) else sentence[:1]
        self.problems.append(first + sentence[1:])

    def remark(self, sentence: str) -> None:
        self.remarks.append(sentence)

    def without_doubles(self, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        """For JSON's reader, which takes the last of several values without a word."""
        for key, count in Counter(key for key, _ in pairs).items():
            if count > 1:
                self.problem(f"{shown(key)} is {count} times in one entry, with the last value counting: keep one.")
        return dict(pairs)

    def text(self, entry: Mapping[str, Any], key: str, where: str) -> str | None:
        """None where there is no such text, which is then a problem."""
        value = entry.get(key)
        if key not in entry or value == "" or value is None:
            self.problem(f"{key} of {where} is {'missing' if key not in entry else 'empty'}.")
        elif isinstance(value, str):
            return value
        else:
            said = json.dumps(value)[:_LONGEST_SHOWN]
            fix = f'write "{said}"' if type(value) is int else "write it as text"
            self.problem(f"{key} of {where} is {said} without quotes, and HCCL reads texts only: {fix}.")
        return None

    def number(self, entry: Mapping[str, Any], key: str, where: str) -> int | None:
        text = self.text(entry, key, where)
        if text is None:
            return None
        if not _NUMBER.fullmatch(text):
            self.problem(f'{key} of {where} is "{shown(text)}", which is no number from 0 on.')
            return None
        return int(text)

    def entries(self, entry: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
        """The objects of a list; those that are none are a problem."""
        value = entry.get(key)
        if not isinstance(value, list) or not value:
            says = "missing" if key not in entry else "empty" if value == [] else "no list"
            self.problem(f"{key} of {where} is {says}.")
            return []
        if not all(isinstance(item, dict) for item in value):
            self.problem(f"{key} of {where} has entries that are no objects: write {{...}} for each.")
        return [item for item in value if isinstance(item, dict)]


def counted(entry: Mapping[str, Any], key: str, count: int, lists: str, where: str, notes: Notes) -> None:
    """Whether a count that the file states is that of its list."""
    stated = notes.number(entry, key, where)
    if stated is not None and stated != count:
        notes.problem(f"{where} says {key} {stated}, and {lists.format(count)}.")


def places_of(
    entry: Mapping[str, Any], key: str, name: str, notes: Notes, with_rank: bool = True, with_super_id: bool = False
) -> list[Place]:
    """The devices of a server or instance."""
    found = []
    for index, item in enumerate(notes.entries(entry, key, shown(name))):
        number = notes.number(item, "device_id", f"device entry {index + 1} of {shown(name)}")
        says = (
            f"device {number} of {shown(name)}" if number is not None else f"device entry {index + 1} of {shown(name)}"
        )
        address = notes.text(item, "device_ip", says) if item.get("device_ip", "") != "" else ""
        super_id = notes.number(item, "super_device_id", says) if with_super_id and "super_device_id" in item else None
        rank = notes.number(item, "rank_id", says) if with_rank else None
        device = (
            Device(number, address or "", "" if super_id is None else str(super_id)) if number is not None else None
        )
        found.append(Place(name, device, rank, says))
    return found


def servers_by_rank(
    names: Iterable[str], places: Sequence[Place], pods: Mapping[str, str], notes: Notes
) -> list[Server]:
    """Servers and their devices in the order of the ranks; those without one come last."""
    by_server: dict[str, list[Place]] = {name: [] for name in names}
    for place in places:
        by_server[place.server].append(place)
    for own in by_server.values():
        own.sort(key=lambda place: len(places) if place.rank is None else place.rank)
    if places and all(place.rank is not None for place in places):
        _check_ranks(places, by_server, notes)
    ordered = sorted(by_server, key=lambda name: _first_rank(by_server[name], len(places)))
    return [
        Server(name, name, [place.device for place in by_server[name] if place.device], pods.get(name, ""))
        for name in ordered
    ]


def _first_rank(places: Sequence[Place], without: int) -> int:
    return without if not places or places[0].rank is None else places[0].rank


def _check_ranks(places: Sequence[Place], by_server: Mapping[str, Sequence[Place]], notes: Notes) -> None:
    """Ranks are 0, 1, 2 ... without gaps, and those of a server follow each other."""
    owners: dict[int, list[str]] = {}
    for place in places:
        owners.setdefault(place.rank or 0, []).append(place.says)
    ranks = f"{len(places)} devices have the ranks 0 to {len(places) - 1}"
    for rank, several in sorted(owners.items()):
        if len(several) > 1:
            notes.problem(f"rank_id {rank} is that of {listed(several)}; each device has one of its own.")
        if rank >= len(places):
            notes.problem(f"rank_id {rank} of {several[0]} is too high: {ranks}.")
    missing = [rank for rank in range(len(places)) if rank not in owners]
    if missing:
        notes.problem(f"No device has rank_id {listed(missing)}: {ranks}.")
        return
    mixed = [
        shown(name)
        for name, own in by_server.items()
        if own and _first_rank(own[-1:], 0) - _first_rank(own, 0) != len(own) - 1
    ]
    if mixed:
        notes.problem(
            f"Ranks of {listed(mixed)} are mixed with those of another server: the ranks of a server follow each other."
        )

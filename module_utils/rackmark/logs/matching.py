"""Finds the lines a dialect knows in a piece of a log."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Iterator, Mapping, Sequence

import numpy as np

from . import vector
from .anchors import Anchors
from .arrays import Array
from .heads import own_heads
from .kinds import Kind
from .line_shapes import LineShapes, Part
from .template import Template

_MOST_READ = 1 << 24  # bytes: where many lines are glued together the rest of one holds all others
_FEW = 64  # below this many lines the regular expression is as fast
_LONG, _MANY_KINDS = 1 << 16, 8  # bytes and kinds from which on it is faster to look for all of them at once


@dataclass(frozen=True)
class Table:
    """All matches of one kind, in the order in which they stand: numbers as an array, words as a list of bytes.

    `at` is where each begins, counted from the begin of the log.
    """

    at: Array
    fields: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.at)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        names = list(self.fields)
        columns = [values.tolist() if isinstance(values, np.ndarray) else values for values in self.fields.values()]
        for row in zip(*columns) if columns else [()] * len(self):
            yield dict(zip(names, row))


Found = Mapping[str, Table]


def in_order(found: Found) -> list[tuple[str, Mapping[str, Any]]]:
    """All matches of all kinds, one after the other as in the log."""
    rows = [(int(at), name, row) for name, table in found.items() for at, row in zip(table.at, table.rows())]
    return [(name, row) for _, name, row in sorted(rows, key=lambda entry: entry[0])]


@dataclass
class Matcher:
    kinds: Sequence[Kind]
    _passed: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._shapes = LineShapes(self.kinds)

    def find(self, text: bytes) -> Found:
        """`text` is whole lines, the next ones of the log."""
        explained = self._shapes.explain(text)
        if explained is None:
            found = self._search(text)
        else:
            others = self._search(explained.others)
            parts = [
                *explained.parts,
                *(Part(name, explained.place(one.at), one.fields) for name, one in others.items()),
            ]
            found = {
                one.name: _joined(parts, one.name) for one in self.kinds if any(one.name == part.kind for part in parts)
            }
        passed, self._passed = self._passed, self._passed + len(text)
        return {name: Table(table.at + passed, table.fields) for name, table in found.items()}

    @cached_property
    def _anchors(self) -> Anchors:
        return Anchors(one.line.anchor for one in self.kinds)

    def _search(self, text: bytes) -> dict[str, Table]:
        """Looks for each kind by itself, which needs no two lines to be alike."""
        there = self._anchors.in_text(text) if len(text) >= _LONG and len(self.kinds) >= _MANY_KINDS else None
        window: vector.Window | None = None
        found: dict[str, Table] = {}
        taken: list[tuple[bytes, Array]] = []
        known_places: dict[bytes, Array] = {}
        for one in self.kinds:
            anchor = one.line.anchor
            if there is not None and anchor not in there:
                continue
            if anchor not in known_places:
                known_places[anchor] = _places(text, anchor)
            places = known_places[anchor]
            for begin, at in taken:
                if len(places) and begin.startswith(anchor):
                    places = places[~np.isin(places, at, assume_unique=True)]
            if not len(places):
                continue
            if window is None and len(places) >= _FEW:
                window = vector.Window(text)
            table = _table(text, window if len(places) >= _FEW else None, one, places)
            if len(table):
                taken.append((anchor, table.at))
                found[one.name] = table
        return found


def _joined(parts: Sequence[Part], name: str) -> Table:
    """In the order of the log."""
    chosen = [part for part in parts if part.kind == name]
    if len(chosen) == 1:
        return Table(chosen[0].at, chosen[0].fields)
    at = np.concatenate([part.at for part in chosen])
    order = np.argsort(at, kind="stable")
    return Table(
        at[order],
        {field: _pick(_chained([part.fields[field] for part in chosen]), order) for field in chosen[0].fields},
    )


def _chained(columns: Sequence[Any]) -> Array:
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    return [value for column in columns for value in column]


def _table(text: bytes, window: vector.Window | None, one: Kind, places: Array) -> Table:
    at, fields, _ = _read(text, window, places, one.line)
    if one.head is None:
        return Table(at, fields)
    begins = _line_begins(text, window, at)
    begins, head_fields, kept = _read(text, window, begins, one.head)
    heads, has_own = own_heads(text, begins, at[kept], one.head, one.line)
    if not has_own.all() or (heads != begins).any():
        kept = kept[has_own]
        _, head_fields, _ = _read(text, window, heads[has_own], one.head)
    return Table(at[kept], {**{name: _pick(values, kept) for name, values in fields.items()}, **head_fields})


def _places(text: bytes, anchor: bytes) -> Array:
    if anchor[:1] not in text or anchor not in text:  # one byte is looked for much faster than several
        return np.empty(0, np.int64)
    between = text.split(anchor)  # faster than to look for one after the other
    ends = np.cumsum(np.fromiter(map(len, between), np.int64, len(between)))
    return ends[:-1] + len(anchor) * np.arange(len(between) - 1)


def _line_begins(text: bytes, window: vector.Window | None, at: Array) -> Array:
    if window is not None:
        return window.lines[np.searchsorted(window.lines, at, "right") - 1]
    return np.array([text.rfind(b"\n", 0, place) + 1 for place in at.tolist()], np.int64)


def _read(
    text: bytes, window: vector.Window | None, places: Array, template: Template
) -> tuple[Array, dict[str, Any], Array]:
    """The places that hold the template, the fields there, and which of all places these are."""
    read_well = vector.read(window, places, template) if window is not None else None
    if read_well is None:
        return _read_one_by_one(text, places, template)
    good, numbers = read_well
    if good.all():
        return places, dict(numbers), np.arange(len(places))
    left = np.flatnonzero(~good)
    at, fields, kept = _read_one_by_one(text, places[left], template)
    order = np.concatenate((np.flatnonzero(good), left[kept]))
    sorting = np.argsort(order, kind="stable")
    merged = {name: np.concatenate((values[good], fields[name]))[sorting] for name, values in numbers.items()}
    return np.concatenate((places[good], at))[sorting], merged, order[sorting]


def _read_one_by_one(text: bytes, places: Array, template: Template) -> tuple[Array, dict[str, Any], Array]:
    match = template.expression.match
    kept, rows = [], []
    room = _MOST_READ
    for number, place in enumerate(places.tolist()):
        matched = match(text, place)
        if matched:
            kept.append(number)
            rows.append(matched.groups())
            room -= matched.end() - place
            if room < 0:
                break
    columns = list(zip(*rows)) if rows else [()] * len(template.fields)
    fields = {
        field.name: list(column) if field.kind in ("word", "rest") else field.numbers(column)
        for field, column in zip(template.fields, columns)
    }
    chosen = np.array(kept, np.int64)
    return places[chosen], fields, chosen


def _pick(values: Array, kept: Array) -> Array:
    return values[kept] if isinstance(values, np.ndarray) else [values[number] for number in kept.tolist()]

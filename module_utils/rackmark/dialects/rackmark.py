"""Rackmark's own lines, `RACKMARK ` and one JSON object; whatever else a log holds is passed over.

    RACKMARK {"event": "step", "monotonic": 8.5, "time": 1763.5, "step": 7, "samples": 32, "seconds": 0.2, "loss": 6.9}

Steps that are written like this, or without `monotonic`, or with null for the loss, are read all at once, in any other
way one by one as JSON.
A line may stand for several steps (`"steps": 10`), of which `step` is the last.
"""

from __future__ import annotations

import math
from typing import Any, Mapping

import numpy as np

from ..logs.arrays import Array
from ..logs.dialect import Dialect
from ..logs.json_records import first_record, number, positive
from ..logs.kinds import kind
from ..logs.line_parts import NOT_LOGGED, ReworkedSteps
from ..logs.matching import Found, Table
from ..logs.own_records import OwnRecords
from ..logs.series import Window
from ..logs.step_timing import Seconds, Steps

_LARGEST_STEP = 10**15
_AMOUNTS = ("samples", "seconds")
_COLUMNS = ("time", "monotonic", "step", *_AMOUNTS, "loss", "steps")
# `monotonic` comes first: lines with and without it are told apart by their first words, which is fast.
_BEGIN = 'RACKMARK {"event": "step", '
_MONOTONIC = _BEGIN + '"monotonic": {monotonic:float}, '
_REST = '"time": {time:float}, "step": {step:int}, "samples": {samples:float}, "seconds": {seconds:float}, "loss": '
_SPELLINGS = {
    "step": _MONOTONIC + _REST + "{loss:float}}",
    "step without loss": _MONOTONIC + _REST + "null}",
    "step by wall time": _BEGIN + _REST + "{loss:float}}",
    "step by wall time without loss": _BEGIN + _REST + "null}",
}
_STEPS = Steps(timing=Seconds("seconds", of_steps="steps"), samples="samples", loss="loss", time="time")


class RackmarkFold(ReworkedSteps):
    def __init__(self, window: Window) -> None:
        super().__init__(window, _STEPS, self._with_records)
        self._records = OwnRecords(self.reading)
        self._all_monotonic = True
        self._noted: set[str] = set()

    def _with_records(self, found: Found) -> Found:
        """All steps in one table, and what the other records say taken in."""
        steps = []
        if "record" in found:
            for at, row in zip(found["record"].at.tolist(), found["record"].rows()):
                record = first_record(b"{" + row["rest"]) or {}
                if record.get("event") == "step":
                    steps.append([at, *_step(record)])
                else:
                    self._records.take(record)
        parts = [np.array(steps, float).reshape(-1, 1 + len(_COLUMNS))]
        for name in _SPELLINGS:
            if name in found:
                count = len(found[name])
                unsaid = {"monotonic": np.nan, "loss": NOT_LOGGED, "steps": 1.0}
                fields = {**{field: np.full(count, value) for field, value in unsaid.items()}, **found[name].fields}
                parts.append(np.column_stack([found[name].at, *(fields[column] for column in _COLUMNS)]))
        rows = np.vstack(parts)
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        self._note_unusable(rows)
        rows = rows[np.isfinite(rows[:, 1 + _COLUMNS.index("step")])]
        fields = {name: rows[:, place] for place, name in enumerate(_COLUMNS, 1)}
        usable = (fields["samples"] > 0) & np.isfinite(fields["samples"])
        fields["seconds"] = np.where(usable, fields["seconds"], np.nan)
        fields["samples"] = fields["samples"] / fields["steps"]
        monotonic = fields.pop("monotonic")
        fields["time"] = self._records.clock.times(fields["time"], monotonic)
        self._all_monotonic = self._all_monotonic and bool(np.isfinite(monotonic).all())
        self.reading.by_steady_clock = self._all_monotonic and self._records.clock.is_steady
        return {"step": Table(rows[:, 0], fields)} if len(rows) else {}

    def _note_unusable(self, rows: Array) -> None:
        """The first line that lacks something, for each thing that it may lack."""
        columns = {name: rows[:, place] for place, name in enumerate(_COLUMNS, 1)}
        numbered = np.isfinite(columns["step"])
        if not numbered.all():
            self._note("step", "A line does not count: its `step` is no whole number.")
        for name in _AMOUNTS:
            wrong = np.flatnonzero(numbered & ~((columns[name] > 0) & np.isfinite(columns[name])))
            if len(wrong):
                which = f"A line of step {columns['step'][wrong[0]]:.0f}"
                self._note(name, f"{which} does not count: its `{name}` are no number above 0.")

    def _note(self, name: str, remark: str) -> None:
        if name not in self._noted:
            self._noted.add(name)
            self.reading.remarks.append(remark)


def _step(record: Mapping[str, Any]) -> list[float]:
    """By `_COLUMNS`; nan is what it does not say."""
    step, steps = record.get("step"), record.get("steps", 1)
    known = type(step) is int and 0 <= step < _LARGEST_STEP
    covers = type(steps) is int and 0 < steps < _LARGEST_STEP
    times = (number(record.get("time")), number(record.get("monotonic")))
    others = (*times, step if known else None, *(positive(record.get(name)) for name in _AMOUNTS))
    return [
        *(math.nan if one is None else float(one) for one in others),
        _loss(record),
        float(steps) if covers else math.nan,
    ]


def _loss(record: Mapping[str, Any]) -> float:
    """As lines have it: nan is a loss that is not a number. JSON has none, so it is null with its name in a text."""
    loss = record.get("loss")
    if loss is None:
        return NOT_LOGGED if record.get("loss_text") is None else math.nan
    found = number(loss)
    return math.nan if found is None else found


DIALECTS = (
    Dialect(
        name="rackmark",
        title="Rackmark's own",
        kinds=(
            *(kind(name, line) for name, line in _SPELLINGS.items()),
            kind("record", "RACKMARK {{rest:rest}"),
        ),
        fold=RackmarkFold,
        of_all_ranks=False,
        counts_every_step=True,
        says_start=True,
    ),
)

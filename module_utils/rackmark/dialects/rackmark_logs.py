"""Rackmark's own lines, in logs that are analyzed without the run they are from.

    RACKMARK {"event": "step", "time": 1763.5, "step": 7, "samples": 32, "seconds": 0.25, "loss": 6.91}

Steps that are written like this, or with null for the loss, are read all at once, in any other way one by one as JSON.
`rackmark` reads the same lines for the judgement of a run, which asks more of them.
"""

from __future__ import annotations

import json
import math
from typing import Any, Mapping

import numpy as np

from .dialect import Dialect
from .json_records import first_record, number, positive
from .line_parts import NOT_LOGGED, ReworkedSteps
from .matching import Found, Table, kind
from .reading import Fault
from .series import Window
from .step_lines import Seconds, Steps

_WORDS = ("model", "framework", "precision", "host")
_COUNTS = ("batch", "world_size", "rank")
_OF_A_TRAINING = ("model", "framework", "precision", "batch", "world_size")
_LONGEST_WORD = 64
_LARGEST_COUNT = 10**7
_LARGEST_STEP = 10**15
_AMOUNTS = ("samples", "seconds")
_COLUMNS = ("time", "step", *_AMOUNTS, "loss")
_LINE = (
    'RACKMARK {"event": "step", "time": {time:float}, "step": {step:int}, "samples": {samples:float},'
    ' "seconds": {seconds:float}, "loss": '
)
_STEPS = Steps(timing=Seconds("seconds", of_last_step=True), samples="samples", loss="loss")


class RackmarkFold(ReworkedSteps):
    def __init__(self, window: Window) -> None:
        super().__init__(window, _STEPS, self._with_records)
        self._started: dict[str, Any] = {}
        self._left_out: set[str] = set()

    def _with_records(self, found: Found) -> Found:
        """All steps in one table, and what the other records say taken in."""
        steps = []
        if "record" in found:
            for at, row in zip(found["record"].at.tolist(), found["record"].rows()):
                record = first_record(b"{" + row["rest"]) or {}
                if record.get("event") == "step":
                    steps.append([at, *_step(record)])
                else:
                    self._take_record(record)
        parts = [np.array(steps, float).reshape(-1, 1 + len(_COLUMNS))]
        for name in ("step", "step without loss"):
            if name in found:
                fields = {"loss": np.full(len(found[name]), NOT_LOGGED), **found[name].fields}
                parts.append(np.column_stack([found[name].at, *(fields[column] for column in _COLUMNS)]))
        rows = np.vstack(parts)
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        rows = rows[np.isfinite(rows[:, 1 + _COLUMNS.index("step")])]
        fields = {name: rows[:, place] for place, name in enumerate(_COLUMNS, 1)}
        usable = (fields["samples"] > 0) & np.isfinite(fields["samples"])
        fields["seconds"] = np.where(usable, fields["seconds"], np.nan)
        return {"step": Table(rows[:, 0], fields)} if len(rows) else {}

    def _take_record(self, record: Mapping[str, Any]) -> None:
        if record.get("event") == "start":
            self._take_start(record)
        elif record.get("event") == "eval":
            accuracy = number(record.get("accuracy"))
            if accuracy is not None and 0 <= accuracy <= 1:
                self.reading.stated["accuracy"] = accuracy

    def _take_start(self, record: Mapping[str, Any]) -> None:
        words = {name: record[name] for name in _WORDS if isinstance(record.get(name), str)}
        facts: dict[str, Any] = {
            name: word[:_LONGEST_WORD].encode(errors="replace").decode() for name, word in words.items()
        }
        for name in _COUNTS:
            value = record.get(name)
            if type(value) is int and (0 if name == "rank" else 1) <= value < _LARGEST_COUNT:
                facts[name] = value
            elif value is not None and name not in self._left_out:
                self._left_out.add(name)
                said = json.dumps(value)[:40]
                self.reading.remarks.append(f"The log's {name} {said} is left out: it is no number that can be.")
        for name in _OF_A_TRAINING:
            first = self._started.get(name)
            if first is not None and facts.get(name, first) != first and not self.reading.faults:
                reason = f"After a start with {name} {first} comes one with {facts[name]}"
                self.reading.faults.append(Fault("incomplete", f"{reason}: the log holds more than one training."))
        self._started.update({**facts, **self._started})
        self.note(facts)


def _step(record: Mapping[str, Any]) -> list[float]:
    """By `_COLUMNS`; nan is what it does not say."""
    step = record.get("step")
    known = type(step) is int and 0 <= step < _LARGEST_STEP
    others = (number(record.get("time")), step if known else None, *(positive(record.get(name)) for name in _AMOUNTS))
    return [*(math.nan if one is None else float(one) for one in others), _loss(record)]


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
            kind("step", _LINE + "{loss:float}}"),
            kind("step without loss", _LINE + "null}"),
            kind("record", "RACKMARK {{rest:rest}"),
        ),
        fold=RackmarkFold,
        of_all_ranks=False,
    ),
)

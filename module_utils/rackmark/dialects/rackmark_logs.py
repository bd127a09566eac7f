"""Rackmark's own lines, in logs that are analyzed without the run they are from.

    RACKMARK {"event": "step", "time": 1763.5, "step": 7, "samples": 32, "seconds": 0.25, "loss": 6.91}

`rackmark` reads the same lines for the judgement of a run, which asks more of them.
"""

from __future__ import annotations

from typing import Any, Mapping

from . import rackmark
from .dialect import Dialect
from .matching import Found, kind
from .series import Window
from .step_lines import Seconds, StepLines, Steps

_FACTS = ("model", "framework", "precision", "batch", "world_size", "rank", "host")
_STEPS = Steps(timing=Seconds("seconds", of_last_step=True), samples="samples", loss="loss")


class RackmarkFold(StepLines):
    def __init__(self, window: Window) -> None:
        super().__init__(window, _STEPS)

    def take(self, found: Found, rank: int | None) -> None:
        for event in ("start", "eval"):
            for row in found[event].rows() if event in found else ():
                line = f'RACKMARK {{"event": "{event}"' + row["record"].decode(errors="replace")
                self._take_record(rackmark.record(line) or {})
        super().take(found, rank)

    def _take_record(self, record: Mapping[str, Any]) -> None:
        if record.get("event") == "start":
            self.note({name: record[name] for name in _FACTS if isinstance(record.get(name), (str, int))})
        elif record.get("event") == "eval" and isinstance(record.get("accuracy"), float):
            self.reading.stated["accuracy"] = record["accuracy"]


DIALECTS = (
    Dialect(
        name="rackmark",
        title="Rackmark's own",
        kinds=(
            kind(
                "step",
                'RACKMARK {"event": "step", "time": {time:float}, "step": {step:int}, "samples": {samples:float},'
                ' "seconds": {seconds:float}, "loss": {loss:float}}',
            ),
            kind("start", 'RACKMARK {"event": "start"{record:rest}'),
            kind("eval", 'RACKMARK {"event": "eval"{record:rest}'),
        ),
        fold=RackmarkFold,
        of_all_ranks=False,
    ),
)

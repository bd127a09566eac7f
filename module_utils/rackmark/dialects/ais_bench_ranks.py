"""What ais-bench makes a training print on every rank, once it is done:

    train done starttime:1657.1 real:1660.2 endtime:1690.4 alldatasum:1281024 skipcount:640512 skiptime:3.1

ResNet leaves out its first epoch, BERT its first sink of data; `real` is when the rest began. The lines do not say of
which rank they are, so ranks are numbered as they come.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

import numpy as np

from ..logs.matching import Found, in_order
from ..logs.reading import Fault, Fold, Reading
from ..logs.series import Window, rows

_MOST_RANKS = 100_000


class _Done(NamedTuple):
    """The steps are those measured, and the last of all."""

    rank: int | None
    steps: float
    last_step: float
    samples: float
    begin: float
    end: float


class RankPrints(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._done: list[_Done] = []
        self._batch: float | None = None

    def take(self, found: Found, rank: int | None) -> None:
        for name, row in in_order(found):
            if name == "epoch":
                self._batch = row["batch"] or None
            elif len(self._done) < _MOST_RANKS:
                done = self._of_sinks(row, rank) if name == "sinks" else self._of_epochs(row, rank)
                self._take(done, row["start"])

    def _of_sinks(self, row: Mapping[str, Any], rank: int | None) -> _Done:
        measured = row["steps"] * (1 - 1 / row["sinks"]) if row["sinks"] else 0
        return _Done(rank, measured, row["steps"], row["samples"], row["real"], row["end"])

    def _of_epochs(self, row: Mapping[str, Any], rank: int | None) -> _Done:
        batch, measured = self._batch or np.nan, row["samples"] - row["skipped"]
        return _Done(rank, measured / batch, row["samples"] / batch, measured, row["real"], row["end"])

    def _take(self, done: _Done, start: float) -> None:
        if np.isnan(done.steps):
            reason = "The log does not hold what the ranks print after every epoch: its begin is missing."
        elif not (start < done.begin < done.end and done.samples > 0 and done.steps > 0):
            reason = "A rank has trained nothing but the first epoch, which ais-bench leaves out."
        else:
            self._done.append(done)
            return
        if not self.reading.faults:
            self.reading.faults.append(Fault("incomplete", reason))

    def finish(self) -> Reading:
        reading = self.reading
        if not self._done and not reading.faults:
            reading.faults.append(Fault("incomplete", "No rank says that its training is done."))
        if self._batch is not None:
            self.note({"batch": int(self._batch)})
        for number, done in enumerate(self._done):
            rank = number if done.rank is None else done.rank
            interval = rows(*np.array([[done.last_step], [done.steps], [done.end - done.begin], [done.samples]]))
            reading.of_rank(None if len(self._done) == 1 else rank).add(interval)
        return reading

"""Lightning's progress bar: how many batches of an epoch are done, and how many a second since its begin.

    Epoch 0:  10%|#         | 10/100 [00:05<00:45,  1.98it/s, v_num=0, train_loss=0.512]

The bar is painted over and over; of each epoch two of its states count: the first one after the warm-up, and the one
at which the epoch is complete, before its validation. The bar's own seconds are whole ones, so the rate is used. A
batch is that of one device; only the first rank paints.
"""

from __future__ import annotations

from typing import Mapping

import numpy as np

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.matching import Found, in_order
from ..logs.reading import Fault, Fold, Reading
from ..logs.series import Window, rows


class _Epoch:
    """`done` batches took `seconds`; `warm` is the first state after the warm-up, `last` the furthest."""

    def __init__(self, number: float) -> None:
        self.number = number
        self.warm: tuple[float, float] | None = None
        self.last: tuple[float, float] | None = None


class _Bars(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._epoch: _Epoch | None = None
        self._done = 0.0  # batches of the epochs before

    def take(self, found: Found, rank: int | None) -> None:
        for name, row in in_order(found):
            if name.startswith("fact"):
                self.note({"world_size": int(row["world_size"])})
            else:
                self._take_bar(row, row["pace"] if name == "slow bar" else 1 / row["pace"] if row["pace"] else np.inf)

    def finish(self) -> Reading:
        self._end_epoch()
        return self.reading

    def _take_bar(self, row: Mapping[str, float], seconds_per_batch: float) -> None:
        if self._epoch is None or row["epoch"] != self._epoch.number:
            self._end_epoch()
            self._begin_epoch(row["epoch"])
        assert self._epoch is not None
        state = row["done"], row["done"] * seconds_per_batch
        if not 0 < state[1] < np.inf or (self._epoch.last is not None and state[0] <= self._epoch.last[0]):
            return
        self._epoch.last = state
        if self._epoch.warm is None and self._done + state[0] >= self.reading.window.warmup > self._done:
            self._epoch.warm = state

    def _begin_epoch(self, number: float) -> None:
        before = -1.0 if self._epoch is None else self._epoch.number
        if number < before and not self.reading.faults:
            reason = f"After epoch {before:.0f} comes epoch {number:.0f}: the log holds more than one training."
            self.reading.faults.append(Fault("incomplete", reason))
        self._epoch = _Epoch(number)

    def _end_epoch(self) -> None:
        if self._epoch is None or self._epoch.last is None:
            return
        states = [state for state in (self._epoch.warm, self._epoch.last) if state is not None]
        begin = (0.0, 0.0)
        for state in states:
            steps, seconds = state[0] - begin[0], state[1] - begin[1]
            if steps > 0 and seconds > 0:
                end = self._done + state[0]
                self.reading.of_rank(None).add(rows(*(np.array([one]) for one in (end, steps, seconds))))
            begin = state
        self._done += self._epoch.last[0]


DIALECTS = (
    Dialect(
        name="lightning",
        title="Lightning",
        kinds=(
            kind("bar", "| {done:int}/{total:int} [{spent:word},{_}{pace:float}it/s", head="Epoch {epoch:int}:"),
            kind("slow bar", "| {done:int}/{total:int} [{spent:word},{_}{pace:float}s/it", head="Epoch {epoch:int}:"),
            kind("fact", "All distributed processes registered. Starting with {world_size:int} processes"),
        ),
        fold=_Bars,
        layer=-1,
    ),
)

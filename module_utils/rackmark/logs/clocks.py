"""When things were logged, by a clock that nobody sets: wall clocks are set, and then jump."""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from .arrays import Array
from .json_records import number
from .series import Rows

# A wall clock that jumps ahead looks as a program does that pauses: a jump is once, and longer than all steps together
# or than a minute.
_SHORTEST_JUMP, _SURE_JUMP = 1.0, 60.0


class SteadyClock:
    """Times of the lines of one process: the wall time of the first line that has both, carried on by `monotonic`.

    `is_steady` says that there is such a line.
    """

    def __init__(self) -> None:
        self._offset: float | None = None

    @property
    def is_steady(self) -> bool:
        return self._offset is not None

    def time(self, record: Mapping[str, Any]) -> float | None:
        wall, monotonic = number(record.get("time")), number(record.get("monotonic"))
        if wall is None or monotonic is None:
            return wall
        if self._offset is None:
            self._offset = wall - monotonic
        return self._offset + monotonic

    def times(self, wall: Array, monotonic: Array) -> Array:
        """`monotonic` is nan where a line does not tell it."""
        both = np.flatnonzero(np.isfinite(wall) & np.isfinite(monotonic))
        if self._offset is None and len(both):
            self._offset = float(wall[both[0]] - monotonic[both[0]])
        if self._offset is None:
            return wall
        times: Array = np.where(np.isfinite(monotonic), self._offset + monotonic, wall)
        return times


def clock_jumps(rows: Rows) -> Array:
    """By how much the wall clock was set while each interval lasted; 0 where that cannot be seen."""
    with np.errstate(invalid="ignore"):
        passed = np.diff(rows.time)
        unexplained = passed - rows.seconds[1:]
        ahead = unexplained > max(_SHORTEST_JUMP, min(float(rows.seconds.sum()), _SURE_JUMP))
        jumped = (passed < 0) | (ahead if ahead.sum() == 1 else False)
    return np.concatenate((np.zeros(min(len(rows), 1)), np.where(jumped, unexplained, 0.0)))

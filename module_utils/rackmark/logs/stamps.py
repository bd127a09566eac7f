"""Intervals from the times at which lines were written: from one line to the next.

How long the steps before the first line took is not known, and not all that lies between two lines is training: what
is not is left out, its steps and its seconds both, with a sentence.
"""

from __future__ import annotations

import numpy as np

from .arrays import Array
from .series import Rows

_BETWEEN_EPOCHS = "The intervals from the last line of an epoch to the first of the next are left out."
_BACKWARDS = "The clock goes back before step {step:.0f}: how long that interval took is not known, it is left out."
_CONTRADICTION = (
    "The interval before step {step:.0f} is left out: by the clock it took {seconds:.0f} s, by what its line says"
    " {named:.0f} s."
)
_PAUSE = "The interval before step {step:.0f} is left out: its {seconds:.0f} s are more than 5 times as long as usual."
_PAUSE_TIMES, _PAUSE_SECONDS = 5, 60  # both have to be exceeded
_WRONG_PART, _WRONG_SECONDS = 0.2, 5  # of what the line says; both have to be exceeded
_ENOUGH = 16  # intervals, to say anew what is usual


class Stamps:
    """The lines of one rank; `seconds` of a line are those that it names itself, nan where it names none."""

    def __init__(self) -> None:
        self._step = self._time = np.nan  # of the last line
        self._pace = self._every = np.nan  # seconds of a step and steps from line to line, as usual
        self._between_epochs = False
        self._left_out: dict[str, tuple[str, int]] = {}  # the first one for each reason, and how many more

    @property
    def remarks(self) -> list[str]:
        said = [
            f"{first} There are {more} more of these." if more else first for first, more in self._left_out.values()
        ]
        return [_BETWEEN_EPOCHS, *said] if self._between_epochs else said

    def intervals(self, lines: Rows, begins_epoch: Array) -> Rows:
        self._between_epochs |= bool(begins_epoch.any())
        with np.errstate(all="ignore"):
            moves = self._moves(lines)
            epochs = np.cumsum(begins_epoch)[moves]
            lines, begins_epoch = lines.pick(moves), np.diff(epochs, prepend=0) > 0
            return self._between(lines, begins_epoch) if len(lines) else lines

    def _moves(self, lines: Rows) -> Array:
        """Not the second of two lines of one step, which another worker wrote, and not the second of two lines of one
        moment, whose steps are those of the next interval."""
        return (np.diff(lines.step, prepend=self._step) != 0) & (np.diff(lines.time, prepend=self._time) != 0)

    def _between(self, lines: Rows, begins_epoch: Array) -> Rows:
        steps, seconds = np.diff(lines.step, prepend=self._step), np.diff(lines.time, prepend=self._time)
        self._step, self._time = float(lines.step[-1]), float(lines.time[-1])
        good = (steps > 0) & np.isfinite(seconds) & ~begins_epoch
        named = self._named(lines, steps, good)
        wrong = np.abs(seconds - named) > np.maximum(_WRONG_PART * named, _WRONG_SECONDS)
        good &= self._without(_BACKWARDS, good & (seconds < 0), lines, seconds, named)
        good &= self._without(_CONTRADICTION, good & wrong, lines, seconds, named)
        good &= self._without(_PAUSE, good & self._pauses(steps, seconds, good), lines, seconds, named)
        return Rows(lines.step, steps, seconds, lines.samples, lines.loss, lines.time).pick(good)

    def _named(self, lines: Rows, steps: Array, good: Array) -> Array:
        """For all steps of the interval; a line names those of its own, so that a lost line is none of them."""
        if good.any() and np.isnan(self._every):
            self._every = _median(steps[good])
        return lines.seconds * steps / self._every

    def _pauses(self, steps: Array, seconds: Array, good: Array) -> Array:
        if good.sum() >= _ENOUGH or (np.isnan(self._pace) and good.any()):
            self._pace = _median(seconds[good] / steps[good])
        usual = steps * self._pace
        return (seconds > _PAUSE_TIMES * usual) & (seconds > usual + _PAUSE_SECONDS)

    def _without(self, reason: str, bad: Array, lines: Rows, seconds: Array, named: Array) -> Array:
        places = np.flatnonzero(bad)
        if len(places):
            at = places[0]
            sentence = reason.format(step=lines.step[at], seconds=seconds[at], named=named[at])
            first, before = self._left_out.get(reason, (sentence, -1))
            self._left_out[reason] = first, before + len(places)
        return ~bad


def _median(values: Array) -> float:
    """The lower one of two: what takes too long is not usual."""
    return float(np.partition(values, (len(values) - 1) // 2)[(len(values) - 1) // 2])

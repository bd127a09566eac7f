"""What a log prints of its own speed, beside what its steps and times make: a check of both, and of the path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arrays import Array

_MOST_KEPT = 1 << 16


class PrintedRate(NamedTuple):
    """Over the measured window: samples per second as printed, the samples that a step has by that and by its time,
    and the usual number of these."""

    rate: float
    samples_per_step: float
    usual_samples_per_step: float


class PrintedRates:
    def __init__(self) -> None:
        self._samples = self._seconds = self._steps = 0.0
        self._per_step: list[Array] = []
        self._kept = 0

    def add(self, rates: Array, seconds: Array, steps: Array) -> None:
        """Of the intervals that are measured; `rates` are those of the lines with which they end."""
        with np.errstate(all="ignore"):
            samples = rates * seconds
            known = np.isfinite(samples) & (samples > 0)
            per_step = (samples / steps)[known]
        self._samples += float(samples[known].sum())
        self._seconds += float(seconds[known].sum())
        self._steps += float(steps[known].sum())
        if self._kept < _MOST_KEPT:
            self._per_step.append(per_step)
            self._kept += len(per_step)

    @property
    def found(self) -> PrintedRate | None:
        if not self._kept or not self._samples < np.inf:
            return None
        usual = float(np.median(np.concatenate(self._per_step)))
        return PrintedRate(self._samples / self._seconds, self._samples / self._steps, usual)

"""MindSpore's own lines: for each block of steps one of LossMonitor, then one of TimeMonitor.

    epoch: 3 step: 10, loss is 6.91
    Train epoch time: 4812.345 ms, per step time: 481.234 ms

They know neither the batch nor the time of day. Both come from the RACKMARK lines around them: a sample ends where
the sample before it ended plus its own seconds, counted anew from every RACKMARK line.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any, Mapping

from . import rackmark
from .sample import RankLog, Sample

_COUNT = r"(\d{1,12})"
_MILLISECONDS = r"(\d{1,12}(?:\.\d+)?)\s*ms"
_LOSS = re.compile(rf"\bepoch:?\s*{_COUNT}\s*,?\s*step:?\s*{_COUNT}\s*,?\s*loss(?:\s+is|\s*:)\s*(\S+)", re.IGNORECASE)
_TIME = re.compile(rf"(?<!eval )epoch time:?\s*{_MILLISECONDS}\s*,?\s*per step time:?\s*{_MILLISECONDS}", re.IGNORECASE)
_HALF_DIGIT = 0.000501  # times are printed with three decimals of a millisecond


@dataclass(frozen=True)
class _LossLine:
    epoch: int
    step: int
    loss: float | None


def read(text: str) -> RankLog:
    blocks = _Blocks()
    for line in text.splitlines():
        found = rackmark.record(line)
        if found is not None:
            blocks.take_record(found)
        elif match := _LOSS.search(line):
            blocks.loss_line = _LossLine(int(match[1]), int(match[2]), _number(match[3]))
        elif match := _TIME.search(line):
            blocks.take_time(float(match[1]), float(match[2]))
    return replace(rackmark.read(text), samples=blocks.samples)


class _Blocks:
    """The samples so far, and what the next one needs to know of the lines before it."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.loss_line: _LossLine | None = None
        self._batch: float | None = None
        self._clock: float | None = None
        self._last_step = 0

    def take_record(self, found: Mapping[str, Any]) -> None:
        if found.get("event") == "start":
            self._batch = _positive(found.get("batch"))
        self._clock = _positive(found.get("time")) or self._clock

    def take_time(self, block_ms: float, step_ms: float) -> None:
        loss_line, self.loss_line = self.loss_line, None
        steps = _steps(block_ms, step_ms, loss_line)
        if steps is None or self._batch is None or self._clock is None:
            return
        self._clock += block_ms / 1000
        self._last_step = _last_step(steps, loss_line, self._last_step)
        self.samples.append(
            Sample(
                step=self._last_step,
                samples=self._batch * steps,
                seconds=block_ms / 1000,
                loss=loss_line.loss if loss_line else None,
                time=self._clock,
                steps=steps,
            )
        )


def _steps(block_ms: float, step_ms: float, loss_line: _LossLine | None) -> int | None:
    """How many steps both times agree on; None where they contradict each other or the step of the loss line.

    Without a sink, LossMonitor may last have spoken some steps before the end of the block, never after it.
    """
    if not (block_ms > 0 and step_ms > 0):
        return None
    logged = loss_line.step if loss_line else 0
    for steps in (logged, round(block_ms / step_ms)):
        agree = abs(block_ms - steps * step_ms) <= (steps + 1) * _HALF_DIGIT
        if steps >= max(logged, 1) and agree:
            return steps
    return None


def _last_step(steps: int, loss_line: _LossLine | None, before: int) -> int:
    """Blocks are numbered by their epoch, which begins anew with every call of the training loop."""
    by_epoch = loss_line.epoch * steps if loss_line else 0
    return by_epoch if by_epoch > before else before + steps


def _number(text: str) -> float | None:
    try:
        return float(text.strip("[],;"))
    except ValueError:
        return None


def _positive(value: object) -> float | None:
    if not isinstance(value, (int, float)) or not 0 < value < math.inf:
        return None
    return float(value)

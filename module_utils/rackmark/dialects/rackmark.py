"""Rackmark's own log lines: `RACKMARK ` and one JSON object; whatever else a log holds is passed over."""

from __future__ import annotations

import json
import math
from typing import Any, Mapping

from .sample import Evaluation, RankLog, Sample

_PREFIX = "RACKMARK "


def read(text: str) -> RankLog:
    start: Mapping[str, Any] | None = None
    end: Mapping[str, Any] | None = None
    samples = []
    evaluations = []
    for line in text.splitlines():
        found = record(line) or {}
        event = found.get("event")
        if event == "start":
            start = found
        elif event == "end":
            end = found
        elif event == "step" and (sample := _sample(found)) is not None:
            samples.append(sample)
        elif event == "eval" and (evaluation := _evaluation(found)) is not None:
            evaluations.append(evaluation)
    return RankLog(start=start, samples=samples, evaluations=evaluations, end=end)


def record(line: str) -> Mapping[str, Any] | None:
    if not line.startswith(_PREFIX):
        return None
    try:
        found = json.loads(line[len(_PREFIX) :])
    except ValueError:  # a line cut off when its rank was killed
        return None
    return found if isinstance(found, dict) else None


def _sample(found: Mapping[str, Any]) -> Sample | None:
    try:
        sample = Sample(
            step=int(found["step"]),
            samples=float(found["samples"]),
            seconds=float(found["seconds"]),
            loss=_loss(found),
            time=float(found["time"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    usable = sample.samples > 0 and sample.seconds > 0 and math.isfinite(sample.samples + sample.seconds + sample.time)
    return sample if usable else None


def _evaluation(found: Mapping[str, Any]) -> Evaluation | None:
    try:
        evaluation = Evaluation(
            step=int(found["step"]),
            seconds=float(found["seconds"]),
            accuracy=float(found["accuracy"]),
            loss=_loss(found),
            time=float(found["time"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    usable = 0 <= evaluation.accuracy <= 1 and evaluation.seconds > 0
    return evaluation if usable and math.isfinite(evaluation.seconds + evaluation.time) else None


def _loss(found: Mapping[str, Any]) -> float | None:
    """JSON has no nan and no infinity, so such a loss is null with its name in `loss_text`."""
    loss = found.get("loss")
    if loss is None:
        loss = found.get("loss_text")
    return None if loss is None else float(loss)

"""Rackmark's own log lines: `RACKMARK ` and one JSON object; whatever else a log holds is passed over."""

from __future__ import annotations

import json
import math
from typing import Any, Iterator, Mapping

from .sample import RankLog, Sample

_PREFIX = "RACKMARK "


def read(text: str) -> RankLog:
    start: Mapping[str, Any] | None = None
    end: Mapping[str, Any] | None = None
    samples = []
    for record in _records(text):
        event = record.get("event")
        if event == "start":
            start = record
        elif event == "end":
            end = record
        elif event == "step":
            sample = _sample(record)
            if sample is not None:
                samples.append(sample)
    return RankLog(start=start, samples=samples, end=end)


def _records(text: str) -> Iterator[Mapping[str, Any]]:
    for line in text.splitlines():
        if not line.startswith(_PREFIX):
            continue
        try:
            record = json.loads(line[len(_PREFIX) :])
        except ValueError:  # a line cut off when its rank was killed
            continue
        if isinstance(record, dict):
            yield record


def _sample(record: Mapping[str, Any]) -> Sample | None:
    try:
        sample = Sample(
            step=int(record["step"]),
            samples=float(record["samples"]),
            seconds=float(record["seconds"]),
            loss=_loss(record),
            time=float(record["time"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
    usable = sample.samples > 0 and sample.seconds > 0 and math.isfinite(sample.samples + sample.seconds + sample.time)
    return sample if usable else None


def _loss(record: Mapping[str, Any]) -> float | None:
    """JSON has no nan and no infinity, so such a loss is null with its name in `loss_text`."""
    loss = record.get("loss")
    if loss is None:
        loss = record.get("loss_text")
    return None if loss is None else float(loss)

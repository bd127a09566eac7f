"""Power meters' logs as MLPerf publishes them, and the begin and end of the training beside them.

    :::MLLOG {"time_ms": 1728509261000, "event_type": "POINT_IN_TIME", "key": "power_reading", "value": 3418.0, ...}

Readings are of the power that goes into the machine; the `conversion_eff` that such a log states does not change them.
"""

from __future__ import annotations

import json
import math
from typing import Any, Iterable, Iterator, Mapping

_TOKEN = ":::MLLOG "
_LONGEST_LINE = 10_000


def read_power_log(lines: Iterable[str]) -> list[tuple[float, float]]:
    """Seconds with watts. Lines that are no reading are passed over; a gap between those left shows in the energy."""
    records = (record for record in _records(lines) if record.get("key") == "power_reading")
    found = ((_seconds(record), _number(record.get("value"))) for record in records)
    return [(time, watts) for time, watts in found if time is not None and watts is not None]


def read_window(lines: Iterable[str]) -> tuple[float, float] | None:
    """Seconds: from the first run_start to the first run_stop after it."""
    begin: float | None = None
    for record in _records(lines):
        time = _seconds(record)
        if record.get("key") == "run_start" and begin is None:
            begin = time
        elif record.get("key") == "run_stop" and begin is not None and time is not None:
            return begin, time
    return None


def _records(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        place = line.find(_TOKEN)
        if place < 0 or len(line) > _LONGEST_LINE:
            continue
        try:
            record = json.loads(line[place + len(_TOKEN) :])
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _seconds(record: Mapping[str, Any]) -> float | None:
    milliseconds = _number(record.get("time_ms"))
    return None if milliseconds is None else milliseconds / 1000


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None

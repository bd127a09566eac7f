"""device_info/<node>/ of an experiment: what AIPerf's monitors write of a node, made of our telemetry.

    time                 when its first line was measured, as `date` says it
    cpu_info.csv         busy processors in percent
    cpu_core_info.csv    the same of every processor, as a list
    mem_info.csv         memory in use, MiB
    net_info.csv         bytes sent and received in the interval
    <device>.csv         utilisation in percent and memory in use, MiB

A line is the mean of 30 seconds; `nan` is a time without samples. What was never measured has no file.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Iterable, Mapping, NamedTuple, Sequence

from ..telemetry.sampler_file import Device, NodeTelemetry, core_column, read_telemetry

INTERVAL = 30  # seconds
_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_BEFORE, _BEHIND = "telemetry-", ".jsonl"
_LATEST = 1e11  # seconds
_MOST_LINES = 1_000_000
_MOST_DEVICES = 10_000


class _Seen(NamedTuple):
    """What was read of a node, in all attempts one after another."""

    times: Sequence[float]
    columns: Mapping[str, Sequence[float]]
    devices: Sequence[Device]


class _Lines(NamedTuple):
    """For each line the rows of the series that it is made of."""

    begin: float
    rows: Sequence[Sequence[int]]


def device_info(repeat: Path) -> dict[str, bytes]:
    """By path in device_info/, of every node that left telemetry in the folder of the repeat, in any attempt."""
    nodes: dict[str, list[NodeTelemetry]] = {}
    for folder in [*_earlier_attempts(repeat), repeat]:
        for path in sorted(folder.glob(f"{_BEFORE}*{_BEHIND}")):
            node = path.name[len(_BEFORE) : -len(_BEHIND)]
            if _NAME.fullmatch(node) and path.is_file() and not path.is_symlink():
                nodes.setdefault(node, []).append(read_telemetry(path, node, None, with_cores=True))
    return {
        f"{node}/{name}": text.encode()
        for node, parts in nodes.items()
        for name, text in _of_node(_joined(parts)).items()
    }


def _earlier_attempts(repeat: Path) -> list[Path]:
    numbers = {path: int(path.name[8:]) for path in repeat.glob("attempt-*") if path.name[8:].isdecimal()}
    return sorted((path for path in numbers if not path.is_symlink()), key=lambda path: numbers[path])


def _joined(parts: Sequence[NodeTelemetry]) -> _Seen:
    names = {name for part in parts for name in part.series.columns}
    times = [time for part in parts for time in part.series.times]
    columns = {
        name: [
            value for part in parts for value in part.series.columns.get(name) or [math.nan] * len(part.series.times)
        ]
        for name in names
    }
    return _Seen(times, columns, max((part.devices for part in parts), key=len))


def _of_node(seen: _Seen) -> dict[str, str]:
    lines = _lines(seen.times)
    if lines is None:
        return {}
    cpu, memory = _means(seen, "cpu", lines), _means(seen, "memory_mb", lines)
    sent, received = (_bytes(_means(seen, name, lines)) for name in ("sent", "received"))
    files = {
        "cpu_info.csv": _column(cpu),
        "cpu_core_info.csv": _lists(_cores(seen, lines)),
        "mem_info.csv": _column(memory),
        "net_info.csv": _column(sent, received),
        **{
            f"{_number(device, place)}.csv": _of_device(seen, device, lines)
            for place, device in enumerate(seen.devices)
        },
    }
    known = {name: text for name, text in files.items() if text}
    begin = datetime.fromtimestamp(lines.begin, timezone.utc)
    return {"time": f"{begin:%a %b} {begin.day:2d} {begin:%H:%M:%S UTC %Y}\n", **known} if known else {}


def _lines(times: Sequence[float]) -> _Lines | None:
    """Rows may be further apart than lines: then a line without one has the row that is nearest to it."""
    known = [row for row, time in enumerate(times) if 0 <= time < _LATEST]
    if not known:
        return None
    begin = min(times[row] for row in known)
    count = int((max(times[row] for row in known) - begin) // INTERVAL) + 1
    if count > _MOST_LINES:
        return None
    rows: list[list[int]] = [[] for _ in range(count)]
    for row in known:
        rows[int((times[row] - begin) // INTERVAL)].append(row)
    apart = sorted(after - before for before, after in zip(times, times[1:]))
    usual = apart[(len(apart) - 1) // 2] if apart else 0.0
    if usual > INTERVAL / 2:
        for before, row in zip([None, *known], known):
            _reach(rows, row, before, times, begin, usual)
    return _Lines(begin, rows)


def _reach(
    rows: Sequence[list[int]], row: int, before: int | None, times: Sequence[float], begin: float, usual: float
) -> None:
    """Lines between a row and the one before it, unless nobody looked for longer than usual."""
    if before is None or not 0 < times[row] - times[before] < 2 * usual:
        return
    first, last = (int((times[one] - begin) // INTERVAL) for one in (before, row))
    for line in range(first + 1, last):
        if not rows[line]:
            middle = begin + (line + 0.5) * INTERVAL
            rows[line].append(min(before, row, key=lambda one: abs(times[one] - middle)))


def _cores(seen: _Seen, lines: _Lines) -> list[list[float]]:
    columns: list[list[float]] = []
    while core_column(len(columns)) in seen.columns:
        columns.append(_means(seen, core_column(len(columns)), lines))
    return columns


def _means(seen: _Seen, name: str, lines: _Lines) -> list[float]:
    column = seen.columns.get(name)
    if column is None:
        return [math.nan] * len(lines.rows)
    return [_mean([column[row] for row in rows if not math.isnan(column[row])]) for rows in lines.rows]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _bytes(mebibytes_per_second: Iterable[float]) -> list[float]:
    rates = (rate * INTERVAL * 2**20 for rate in mebibytes_per_second)
    return [rate if math.isnan(rate) else round(rate) for rate in rates]


def _of_device(seen: _Seen, device: Device, lines: _Lines) -> str:
    names = [device.columns.get(name, "") for name in ("utilisation", "memory_mb")]
    busy, used = (_means(seen, name, lines) for name in names)
    return _column([value if math.isnan(value) else round(value) for value in busy], used)


def _number(device: Device, place: int) -> int:
    return device.number if 0 <= device.number < _MOST_DEVICES else place


def _column(*columns: Sequence[float]) -> str:
    """Nothing where there is no value at all."""
    if all(math.isnan(value) for column in columns for value in column):
        return ""
    return "".join(",".join(map(_text, row)) + "\n" for row in zip(*columns))


def _lists(columns: Sequence[Sequence[float]]) -> str:
    rows = zip(*columns)
    return "".join(f"[{', '.join('nan' if math.isnan(value) else f'{value:.1f}' for value in row)}]\n" for row in rows)


def _text(value: float) -> str:
    return "nan" if math.isnan(value) else f"{value:.12g}"

"""Mean and max of every node of every case, over the repeats that are ok."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import Callable, Iterable, NamedTuple, Sequence

from .presentation import MISSING, or_missing, quantity
from .telemetry import RepeatTelemetry
from .telemetry_file import NodeTelemetry
from .telemetry_series import Extent

MOST_ROWS = 40  # a longer table shows the largest case alone


class _Column(NamedTuple):
    heading: str
    read: Callable[[NodeTelemetry], float | None]
    over_repeats: Callable[[Sequence[float]], float]


def telemetry_table(counted: Sequence[RepeatTelemetry], largest: str) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Headings and rows, without the columns that no node has anything for."""
    nodes: dict[tuple[str, str], list[NodeTelemetry]] = defaultdict(list)
    for seen in counted:
        for name, node in seen.nodes.items():
            nodes[seen.case, name].append(node)
    shown = {key: found for key, found in nodes.items() if len(nodes) <= MOST_ROWS or key[0] == largest}
    columns = {column.heading: [_cell(column, found) for found in shown.values()] for column in _COLUMNS}
    known = {heading: cells for heading, cells in columns.items() if set(cells) != {MISSING}}
    rows = [[case, node, *cells] for (case, node), cells in zip(shown, zip(*known.values()))]
    return ["case", "node", *known], rows


def _cell(column: _Column, found: Sequence[NodeTelemetry]) -> str:
    values = [value for value in map(column.read, found) if value is not None]
    return or_missing(column.over_repeats(values) if values else None, quantity)


def _of(name: str, part: str, scale: float = 1.0) -> Callable[[NodeTelemetry], float | None]:
    def read(node: NodeTelemetry) -> float | None:
        value = _part(node.series.extent(name), part)
        return None if value is None else value * scale

    return read


def _of_devices(
    name: str, part: str, join: Callable[[Iterable[float]], float]
) -> Callable[[NodeTelemetry], float | None]:
    def read(node: NodeTelemetry) -> float | None:
        """Without one of the devices it would not be that of the node."""
        values = [_part(node.series.extent(device.columns.get(name, "")), part) for device in node.devices]
        known = [value for value in values if value is not None]
        return join(known) if known and len(known) == len(values) else None

    return read


def _both(*names: str) -> Callable[[NodeTelemetry], float | None]:
    """By the kernel's network and by RDMA, which it does not see."""

    def read(node: NodeTelemetry) -> float | None:
        means = [mean for mean in (node.series.extent(name).mean for name in names) if mean is not None]
        return sum(means) if means else None

    return read


def _part(extent: Extent, part: str) -> float | None:
    return extent.mean if part == "mean" else extent.max


_COLUMNS = (
    _Column("CPU, %", _of("cpu", "mean"), fmean),
    _Column("CPU max", _of("cpu", "max"), max),
    _Column("memory max, GiB", _of("memory_mb", "max", 1 / 1024), max),
    _Column("received, MiB/s", _both("received", "rdma_received"), fmean),
    _Column("sent, MiB/s", _both("sent", "rdma_sent"), fmean),
    _Column("devices, %", _of_devices("utilisation", "mean", lambda values: fmean(list(values))), fmean),
    _Column("hottest, \N{DEGREE SIGN}C", _of_devices("temperature", "max", max), max),
    _Column("devices, W", _of_devices("power", "mean", sum), fmean),
    _Column("devices max, W", _of_devices("power", "max", sum), max),
    _Column("node, W", _of("host_w", "mean"), fmean),
    _Column("node max, W", _of("host_w", "max"), max),
)

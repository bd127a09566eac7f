"""Mean and max of the nodes of every case, over the repeats that are ok; of many nodes the median and the extremes."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, median
from typing import Callable, Iterable, Mapping, NamedTuple, Sequence

from ..numbers.words import or_missing, quantity
from ..telemetry.columns import Extent
from ..telemetry.repeats import RepeatTelemetry
from ..telemetry.sampler_file import NodeTelemetry

MOST_NODES = 8  # a case with more has three rows
MOST_ROWS = 40  # where there are more in all, those of every node are of the largest case alone
_OF_MANY: Mapping[str, Callable[[Sequence[float]], float]] = {"median": median, "lowest": min, "highest": max}


class _Column(NamedTuple):
    heading: str
    read: Callable[[NodeTelemetry], float | None]
    over_repeats: Callable[[Sequence[float]], float]


class TelemetryTable(NamedTuple):
    """`every_node` is empty where `rows` have all there is."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    every_node: Sequence[Sequence[str]]


def telemetry_table(counted: Sequence[RepeatTelemetry], largest: str) -> TelemetryTable:
    """Without the columns that no node has anything for."""
    cases: dict[str, dict[str, list[NodeTelemetry]]] = defaultdict(lambda: defaultdict(list))
    for seen in counted:
        for name, node in seen.nodes.items():
            cases[seen.case][name].append(node)
    values = {
        case: {name: [_value(column, found) for column in _COLUMNS] for name, found in nodes.items()}
        for case, nodes in cases.items()
    }
    all_rows = [row for nodes in values.values() for row in nodes.values()]
    known = [place for place, column in enumerate(zip(*all_rows)) if any(value is not None for value in column)]
    rows = [[case, *row] for case, nodes in values.items() for row in _few_rows(nodes, known)]
    every_node = [
        [case, name, *_cells(row, known)]
        for case, nodes in values.items()
        for name, row in nodes.items()
        if len(all_rows) <= MOST_ROWS or case == largest
    ]
    headings = ["case", "node", *(_COLUMNS[place].heading for place in known)]
    return TelemetryTable(headings, rows, every_node if max(map(len, values.values()), default=0) > MOST_NODES else [])


def _few_rows(nodes: Mapping[str, Sequence[float | None]], known: Sequence[int]) -> list[list[str]]:
    if len(nodes) <= MOST_NODES:
        return [[name, *_cells(row, known)] for name, row in nodes.items()]
    columns = [[value for value in column if value is not None] for column in zip(*nodes.values())]
    return [
        [f"{word} of {len(nodes)}", *_cells([of(column) if column else None for column in columns], known)]
        for word, of in _OF_MANY.items()
    ]


def _cells(row: Sequence[float | None], known: Sequence[int]) -> list[str]:
    return [or_missing(row[place], quantity) for place in known]


def _value(column: _Column, found: Sequence[NodeTelemetry]) -> float | None:
    values = [value for value in map(column.read, found) if value is not None]
    return column.over_repeats(values) if values else None


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

"""Which node or device of a repeat was not like the others, by the means over the measured window, or not sound."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, median
from typing import Callable, Mapping, NamedTuple, TypeVar

from ..numbers.odd_one_out import odd_ones
from .repeats import RepeatTelemetry

_Name = TypeVar("_Name")


class _Metric(NamedTuple):
    """`least` is how far one has to be from the median of all to be worth a sentence."""

    name: str
    words: str
    unit: str
    least: Callable[[float], float]


_OF_DEVICE = (
    _Metric("utilisation", "utilisation", "%", lambda _: 5.0),
    _Metric("temperature", "temperature", "\N{DEGREE SIGN}C", lambda _: 8.0),
    _Metric("clock", "clock", "MHz", lambda middle: 0.03 * middle),
    _Metric("power", "power", "W", lambda middle: 0.08 * middle),
)
_OF_PROCESSORS = _Metric("cpu", "processor use", "%", lambda _: 10.0)


def odd_sentences(seen: RepeatTelemetry, same_host: bool) -> list[str]:
    """With `same_host` all nodes have the same processors, so that none can be odd."""
    return [
        *(sentence for metric in _OF_DEVICE for sentence in _devices(seen, metric)),
        *([] if same_host else _processors(seen)),
        *_with_errors(seen),
    ]


def _with_errors(seen: RepeatTelemetry) -> list[str]:
    counts = {
        f"{name} device {device.number}": node.series.extent(device.columns.get("errors", "")).max or 0
        for name, node in seen.nodes.items()
        for device in node.devices
    }
    return [
        f"{name} has counted {count:,.0f} ECC errors that could not be corrected, since its driver was started."
        for name, count in counts.items()
        if count
    ]


def _devices(seen: RepeatTelemetry, metric: _Metric) -> list[str]:
    """A device of an odd node is not named again."""
    means: dict[tuple[str, int], float] = {}
    by_node: dict[str, list[float]] = defaultdict(list)
    for name, node in seen.nodes.items():
        for device in node.devices:
            mean = node.series.extent(device.columns.get(metric.name, "")).mean
            if mean is not None:
                means[name, device.number] = mean
                by_node[name].append(mean)
    of_nodes = {name: fmean(values) for name, values in by_node.items()}
    several = any(len(values) > 1 for values in by_node.values())
    odd_nodes = _odd(of_nodes, metric) if several else {}
    odd_devices = {key: middle for key, middle in _odd(means, metric).items() if key[0] not in odd_nodes}
    return [
        *(_sentence(name, of_nodes[name], odd, metric, f"{len(of_nodes)} nodes") for name, odd in odd_nodes.items()),
        *(
            _sentence(f"{key[0]} device {key[1]}", means[key], odd, metric, f"{len(means)} devices")
            for key, odd in odd_devices.items()
        ),
    ]


def _processors(seen: RepeatTelemetry) -> list[str]:
    known = ((name, node.series.extent("cpu").mean) for name, node in seen.nodes.items())
    means = {name: mean for name, mean in known if mean is not None}
    return [
        _sentence(name, means[name], middle, _OF_PROCESSORS, f"{len(means)} nodes")
        for name, middle in _odd(means, _OF_PROCESSORS).items()
    ]


def _odd(means: Mapping[_Name, float], metric: _Metric) -> dict[_Name, float]:
    return odd_ones(means, metric.least(median(means.values()))) if means else {}


def _sentence(name: str, mean: float, middle: float, metric: _Metric, all_of: str) -> str:
    return (
        f"The odd one out is {name}: its mean {metric.words} is {mean:,.0f} {metric.unit}, the median of all {all_of}"
        f" {middle:,.0f} {metric.unit}."
    )

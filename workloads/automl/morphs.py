"""Steps from one network to a larger one that can compute the same: which there are, and what they make of the layers.

What becomes of the weights is told in inheritance.py.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

from channels import channels_of, widened
from graph import Graph
from layers import (
    ACTIVATION,
    CONCATENATION,
    CONVOLUTION,
    SUM,
    Layer,
    activation,
    convolution,
    normalization,
    pool,
    strided,
)

DEEPER, WIDER, SKIP_ADD, SKIP_CONCAT, KERNEL = OPERATIONS = ("deeper", "wider", "skip_add", "skip_concat", "kernel")

_LARGEST_KERNEL = 7
_FEWEST_ADDED = 4  # channels
_GROWTHS = (1, 2, 4)  # eighths of the channels that a network is made wider by
_MOST = 1_000_000  # for a number in a file


@dataclass(frozen=True)
class Morph:
    """`at` is a layer: the activation behind or before which layers are put, or the convolution that grows.

    A skip comes from the node `source`; `amount` is the number of channels added, or the new kernel size.
    """

    operation: str
    at: int
    source: int | None = None
    amount: int | None = None

    @property
    def short(self) -> str:
        source = "" if self.source is None else f" from {self.source}"
        amount = {WIDER: f" by {self.amount}", KERNEL: f" to {self.amount}"}.get(self.operation, "")
        return f"{self.operation} at {self.at}{source}{amount}"

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_json(cls, morph: object) -> Morph:
        """ValueError: a sentence about what is no morph."""
        if not isinstance(morph, dict) or morph.get("operation") not in OPERATIONS:
            raise ValueError(
                f"A morph names one of the operations {', '.join(OPERATIONS)}, and this is {morph!r:.120}."
            )
        needed = {"operation", "at", *_BESIDE[morph["operation"]]}
        numbers = [value for name, value in morph.items() if name != "operation"]
        if set(morph) != needed or any(type(number) is not int or not 0 <= number <= _MOST for number in numbers):
            raise ValueError(
                f"The morph {morph!r:.120} is not written with {', '.join(sorted(needed))} as whole numbers."
            )
        return cls(**morph)


_BESIDE: Mapping[str, Sequence[str]] = {
    DEEPER: (),
    WIDER: ("amount",),
    SKIP_ADD: ("source",),
    SKIP_CONCAT: ("source",),
    KERNEL: ("amount",),
}


def propose(graph: Graph, rng: random.Random, operations: Sequence[str] = OPERATIONS) -> Morph | None:
    """One that fits, of an operation drawn at random; None where none of them fits."""
    for operation in rng.sample(list(operations), len(operations)):
        morph = _DRAWN[operation](graph, rng)
        if morph is not None:
            return morph
    return None


def morphed(graph: Graph, morph: Morph) -> Graph:
    """ValueError: a sentence about a morph that is not one of this network."""
    if not 1 <= morph.at <= graph.layers or not 0 <= (morph.source or 0) <= graph.layers:
        raise ValueError(f"There is no {morph.short} in a network of {graph.layers} layers.")
    kind = CONVOLUTION if morph.operation in (WIDER, KERNEL) else ACTIVATION
    if graph.layer(morph.at).kind != kind:
        raise ValueError(f"There is no {morph.short}: that layer is a {graph.layer(morph.at).kind} and not a {kind}.")
    return _MADE[morph.operation](graph, morph)


def _deeper(graph: Graph, morph: Morph) -> Graph:
    """Convolution, normalization and activation behind an activation, before all that read it."""
    channels, end = graph.shapes[morph.at][2], graph.layers
    added = [
        convolution(morph.at, channels, channels, graph.kernel_size),
        normalization(end + 1, channels),
        activation(end + 2),
    ]
    changed = {place: graph.layer(place).reading(morph.at, end + 3) for place in graph.readers[morph.at]}
    return graph.with_layers(added, changed)


def _wider(graph: Graph, morph: Morph) -> Graph:
    channels = channels_of(graph)
    group = channels.group_of(morph.at)
    if group in channels.fixed or not morph.amount:
        raise ValueError(f"There is no {morph.short}: the channels of that layer cannot grow.")
    return widened(graph, channels, group, morph.amount)


def _skip_add(graph: Graph, morph: Morph) -> Graph:
    """Source, convolution, normalization, added to what an activation reads."""
    source, read, end = _skipped(graph, morph)
    filters, stride = graph.shapes[read][2], _stride(graph, source, read)
    added = [
        convolution(source, graph.shapes[source][2], filters, graph.kernel_size, stride),
        normalization(end + 1, filters),
        Layer(SUM, (read, end + 2)),
    ]
    return graph.with_layers(added, {morph.at: activation(end + 3)})


def _skip_concat(graph: Graph, morph: Morph) -> Graph:
    """Source, pooled to the size, joined with what an activation reads; a convolution to as many channels as before."""
    source, read, end = _skipped(graph, morph)
    filters, stride = graph.shapes[read][2], _stride(graph, source, read)
    channels = graph.shapes[source][2] + filters
    added: list[Layer] = []
    if stride > 1:
        added.append(pool(source, stride, stride))
        source = end = end + 1
    added.append(Layer(CONCATENATION, (read, source)))
    added.append(convolution(end + 1, channels, filters, graph.kernel_size))
    return graph.with_layers(added, {morph.at: activation(end + 2)})


def _kernel(graph: Graph, morph: Morph) -> Graph:
    layer = graph.layer(morph.at)
    if graph.has_trials_kernel(morph.at) or not morph.amount or morph.amount <= layer.kernel:
        raise ValueError(
            f"There is no {morph.short}: the kernel of that layer is that of the trial, or as large already."
        )
    return graph.with_layers((), {morph.at: layer.with_kernel(morph.amount)})


def _skipped(graph: Graph, morph: Morph) -> tuple[int, int, int]:
    """The nodes that the skip comes from and goes to, and the last one of the network."""
    read = graph.layer(morph.at).inputs[0]
    if morph.source is None or morph.source not in _sources(graph, morph.at):
        raise ValueError(
            f"There is no {morph.short}: a skip leads from an activation to a later one of a smaller size."
        )
    return morph.source, read, graph.layers


def _stride(graph: Graph, source: int, node: int) -> int:
    return strided(graph.shapes[source][0], graph.shapes[node][0])


def _sources(graph: Graph, place: int) -> set[int]:
    """Activations from which a skip to this one can come."""
    read = graph.layer(place).inputs[0]
    before: set[int] = set()
    waiting = [read]
    while waiting:
        node = waiting.pop()
        if node not in before:
            before.add(node)
            waiting += graph.layer(node).inputs if node else ()
    activations = (node for node in before - {0, read} if graph.layer(node).kind == ACTIVATION)
    return {node for node in activations if _can_reach(graph, node, read)}


def _can_reach(graph: Graph, source: int, node: int) -> bool:
    """Whether a stride makes the one as large as the other."""
    stride = _stride(graph, source, node)
    return tuple(strided(size, stride) for size in graph.shapes[source][:2]) == graph.shapes[node][:2]


def _draw_deeper(graph: Graph, rng: random.Random) -> Morph | None:
    places = _activations(graph)
    return Morph(DEEPER, rng.choice(places)) if places else None


def _draw_wider(graph: Graph, rng: random.Random) -> Morph | None:
    channels = channels_of(graph)
    groups = sorted({channels.group_of(place) for place in graph.convolutions} - channels.fixed)
    if not groups:
        return None
    group = rng.choice(groups)
    return Morph(WIDER, group, amount=max(_FEWEST_ADDED, channels.sizes[group] // 8 * rng.choice(_GROWTHS)))


def _draw_skip_add(graph: Graph, rng: random.Random) -> Morph | None:
    return _draw_skip(SKIP_ADD, graph, rng)


def _draw_skip_concat(graph: Graph, rng: random.Random) -> Morph | None:
    return _draw_skip(SKIP_CONCAT, graph, rng)


def _draw_skip(operation: str, graph: Graph, rng: random.Random) -> Morph | None:
    places = _activations(graph)
    for place in rng.sample(places, len(places)):
        sources = sorted(_sources(graph, place))
        if sources:
            return Morph(operation, place, source=rng.choice(sources))
    return None


def _draw_kernel(graph: Graph, rng: random.Random) -> Morph | None:
    """Of a convolution that the search started with; the others have the trial's kernel."""
    places = [
        place
        for place in graph.convolutions
        if not graph.has_trials_kernel(place) and graph.layer(place).kernel < _LARGEST_KERNEL
    ]
    if not places:
        return None
    place = rng.choice(places)
    return Morph(KERNEL, place, amount=graph.layer(place).kernel + 2)


def _activations(graph: Graph) -> list[int]:
    return [place for place, layer in enumerate(graph.listed, start=1) if layer.kind == ACTIVATION]


_MADE: Mapping[str, Callable[[Graph, Morph], Graph]] = {
    DEEPER: _deeper,
    WIDER: _wider,
    SKIP_ADD: _skip_add,
    SKIP_CONCAT: _skip_concat,
    KERNEL: _kernel,
}

_DRAWN: Mapping[str, Callable[[Graph, random.Random], Morph | None]] = {
    DEEPER: _draw_deeper,
    WIDER: _draw_wider,
    SKIP_ADD: _draw_skip_add,
    SKIP_CONCAT: _draw_skip_concat,
    KERNEL: _draw_kernel,
}

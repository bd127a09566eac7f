"""What of a network does not depend on where its layers are listed: its digest, and the numbers that describe it."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Sequence

from layers import CONCATENATION, SUM

if TYPE_CHECKING:
    from graph import Graph

_RESOLUTIONS = 5  # the image's, its half, its quarter ...


def digest_of(graph: Graph) -> str:
    """Every layer is known by all that leads to it and all that comes of it.

    The second tells two layers that read the same from one that is read twice.
    """
    before: dict[int, str] = {0: _hash("image", *graph.input_shape)}
    for place in graph.order:
        layer = graph.layer(place)
        inputs = [before[node] for node in layer.inputs]
        before[place] = _hash(layer.kind, *layer.settings, *(sorted(inputs) if layer.kind == SUM else inputs))
    behind: dict[int, str] = {}
    for node in (*reversed(graph.order), 0):
        readers = [
            behind[place] + _hash(*_inputs_that_are(graph, node, place)) for place in graph.readers.get(node, ())
        ]
        behind[node] = _hash(before[node], *sorted(readers))
    return _hash(*sorted(behind.values()))


def _inputs_that_are(graph: Graph, node: int, place: int) -> Sequence[int]:
    """For a sum it is all one which of its inputs is which."""
    layer = graph.layer(place)
    at = [number for number, given in enumerate(layer.inputs) if given == node]
    return at if layer.kind == CONCATENATION else at[1:]


def _hash(*values: object) -> str:
    return hashlib.blake2b("|".join(map(str, values)).encode(), digest_size=16).hexdigest()


def features_of(graph: Graph) -> tuple[float, ...]:
    """17 numbers: sizes on a scale of doublings, then convolutions and filters by resolution."""
    kinds = [layer.kind for layer in graph.listed]
    kernels = [graph.layer(place).kernel for place in graph.convolutions]
    widest = max(graph.layer(place).settings[1] for place in graph.convolutions) if graph.convolutions else 0
    whole = (
        math.log2(graph.parameters),
        math.log2(graph.flops.training),
        math.log2(graph.depth),
        float(kinds.count(SUM)),
        float(kinds.count(CONCATENATION)),
        sum(kernels) / max(1, len(kernels)),
        math.log2(1 + widest),
    )
    filters: list[list[int]] = [[] for _ in range(_RESOLUTIONS)]
    for place in graph.convolutions:
        smaller = round(math.log2(graph.input_shape[0] / graph.shapes[place][0]))
        filters[min(max(smaller, 0), _RESOLUTIONS - 1)].append(graph.layer(place).settings[1])
    by_resolution = [number for at in filters for number in (math.log2(1 + len(at)), math.log2(1 + sum(at)))]
    return (*whole, *by_resolution)

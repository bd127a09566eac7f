"""A network as data: its layers, in AIPerf's numbering. Nothing here computes with weights.

A layer is known by its place in the list, from 1. Morphs put theirs at the end, so that places hold for a whole line of
descent. The convolutions that morphs made, and every convolution from the 176th layer on, have the kernel size of the
trial: AIPerf counts them with that size, and here they are computed with it.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Mapping, Sequence

from graph_file import read_file, written
from graph_structure import digest_of, features_of
from layers import CONVOLUTION, DENSE, NORMALIZATION, Layer, Shape, output_shape
from rackmark.aiperf.flops import LAYERS_WITH_OWN_KERNEL, Flops, flops_per_image

SMALLEST_KERNEL = 3  # of the convolutions that morphs make


@dataclass(frozen=True)
class Graph:
    """Layers that make no network are a ValueError that says why."""

    listed: tuple[Layer, ...]
    input_shape: Shape
    kernel_size: int  # of the trial
    start_layers: int  # so many were there before the first morph

    def __post_init__(self) -> None:
        _ = self.shapes

    @classmethod
    def start(cls, listed: Sequence[Layer], input_shape: Shape) -> Graph:
        """A network that no morph has changed yet."""
        return cls._of_trial(tuple(listed), input_shape, SMALLEST_KERNEL, len(listed))

    @classmethod
    def from_json(cls, model: object) -> Graph:
        """ValueError: a sentence about a model.json that is none, or none of a network that can be trained."""
        file = read_file(model)
        start = len(file.listed) if file.start_layers is None else file.start_layers
        graph = cls._of_trial(file.listed, file.input_shape, file.kernel_size or SMALLEST_KERNEL, start)
        for node, (said, given) in enumerate(zip(file.shapes, graph.shapes)):
            if said != given:
                raise ValueError(
                    f"Node {node} is written as {list(said)}, and the layers before it give {list(given)}."
                )
        return graph

    @classmethod
    def _of_trial(cls, listed: tuple[Layer, ...], input_shape: Shape, kernel_size: int, start_layers: int) -> Graph:
        """A kernel that is larger already is that of the trial, for a kernel never shrinks."""
        graph = cls(listed, input_shape, kernel_size, start_layers)
        kernels = [graph.layer(place).kernel for place in graph.convolutions if graph.has_trials_kernel(place)]
        return replace(graph, kernel_size=0).with_kernel(max([kernel_size, *kernels]))

    def to_json(self) -> dict[str, Any]:
        """AIPerf's model.json, with the kernel size and the number of first layers beside it."""
        return written(self.listed, self.shapes, self.kernel_size, self.start_layers)

    def with_kernel(self, size: int) -> Graph:
        """For a trial of this kernel size; where it is larger already, it stays so."""
        if size % 2 == 0 or size < 1:
            raise ValueError(f"The kernel size {size} is not an odd number such as 3, 5 or 7.")
        if size <= self.kernel_size:
            return self
        listed = [
            layer.with_kernel(size) if layer.kind == CONVOLUTION and self.has_trials_kernel(place) else layer
            for place, layer in enumerate(self.listed, start=1)
        ]
        return replace(self, listed=tuple(listed), kernel_size=size)

    def has_trials_kernel(self, place: int) -> bool:
        return place > min(self.start_layers, LAYERS_WITH_OWN_KERNEL)

    def layer(self, place: int) -> Layer:
        return self.listed[place - 1]

    def with_layers(self, added: Sequence[Layer], changed: Mapping[int, Layer]) -> Graph:
        """Others at some places, and more at the end."""
        listed = [changed.get(place, layer) for place, layer in enumerate(self.listed, start=1)]
        return replace(self, listed=(*listed, *added))

    @property
    def layers(self) -> int:
        return len(self.listed)

    @property
    def classes(self) -> int:
        return self.shapes[self.output][0]

    @cached_property
    def convolutions(self) -> Sequence[int]:
        return [place for place, layer in enumerate(self.listed, start=1) if layer.kind == CONVOLUTION]

    @cached_property
    def readers(self) -> Mapping[int, Sequence[int]]:
        """The places of the layers that read a node."""
        readers: dict[int, list[int]] = defaultdict(list)
        for place, layer in enumerate(self.listed, start=1):
            for node in layer.inputs:
                readers[node].append(place)
        return readers

    @cached_property
    def output(self) -> int:
        """The place of the layer that nobody reads."""
        last = [place for place in range(1, self.layers + 1) if place not in self.readers]
        if len(last) != 1 or self.layer(last[0]).kind != DENSE:
            kinds = [f"layer {place} ({self.layer(place).kind})" for place in last]
            raise ValueError(f"A network ends in one {DENSE}, this one in {', '.join(kinds) or 'none'!s:.200}.")
        return last[0]

    @cached_property
    def order(self) -> Sequence[int]:
        """Places, each behind those that it reads."""
        missing = {place: len(set(layer.inputs)) for place, layer in enumerate(self.listed, start=1)}
        known, order = [0], []
        while known:
            node = heapq.heappop(known)
            order.append(node)
            for reader in set(self.readers.get(node, ())):
                missing[reader] -= 1
                if not missing[reader]:
                    heapq.heappush(known, reader)
        if len(order) <= self.layers:
            waiting = min(place for place, count in missing.items() if count)
            raise ValueError(f"Layer {waiting} ({self.layer(waiting).kind}) reads what only comes from itself.")
        return order[1:]

    @cached_property
    def shapes(self) -> Sequence[Shape]:
        """Of each node, the image first."""
        shapes: dict[int, Shape] = {0: self.input_shape}
        for place in self.order:
            layer = self.layer(place)
            try:
                shapes[place] = output_shape(layer, [shapes[node] for node in layer.inputs])
            except ValueError as wrong:
                raise ValueError(f"Layer {place} ({layer.kind}) does not fit: {wrong}.") from None
        _ = self.output
        return [shapes[node] for node in range(self.layers + 1)]

    @cached_property
    def parameters(self) -> int:
        return sum(_weights(layer) for layer in self.listed)

    @cached_property
    def flops(self) -> Flops:
        """Of one image, as AIPerf counts them."""
        return flops_per_image(self.to_json(), self.kernel_size)

    @cached_property
    def depth(self) -> int:
        """Layers of the longest way from the image to the classes."""
        depths = {0: 0}
        for place in self.order:
            depths[place] = 1 + max(depths[node] for node in self.layer(place).inputs)
        return depths[self.output]

    def digest(self) -> str:
        """The same for networks of the same structure, wherever their layers are listed."""
        return digest_of(self)

    def features(self) -> tuple[float, ...]:
        """What the surrogate of the search knows of a network."""
        return features_of(self)


def _weights(layer: Layer) -> int:
    if layer.kind == CONVOLUTION:
        channels, filters, kernel, _, _ = layer.settings
        return channels * filters * kernel**2
    if layer.kind == NORMALIZATION:
        return 2 * layer.settings[0]
    if layer.kind == DENSE:
        inputs, outputs = layer.settings
        return (inputs + 1) * outputs
    return 0

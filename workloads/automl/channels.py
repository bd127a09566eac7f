"""Which channels of a network have to grow together, and what a layer's channels become when they do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Mapping, Sequence, Tuple

from graph import Graph
from layers import CONCATENATION, CONVOLUTION, DENSE, NORMALIZATION, SUM, Layer

_Layout = Tuple[int, ...]  # the groups that the channels of a node are made of, one behind the other


@dataclass(frozen=True)
class Channels:
    """A group is named by the first layer that makes its channels; sums tie what they add into one."""

    layouts: Sequence[_Layout]  # of each node
    sizes: Mapping[int, int]  # of each group
    fixed: set[int]  # groups that cannot grow: the image, the classes, sums of what is joined differently

    def group_of(self, place: int) -> int:
        """Of a convolution's filters."""
        return self.layouts[place][0]

    def sources(self, node: int, group: int, added: Sequence[int]) -> list[tuple[int, bool]]:
        """For each channel that the node has once the group has grown: the one it comes from, and whether it is new.

        `added` are those channels of the group that the new ones are made from.
        """
        sources: list[tuple[int, bool]] = []
        before = 0
        for part in self.layouts[node]:
            sources += [(before + channel, False) for channel in range(self.sizes[part])]
            if part == group:
                sources += [(before + channel, True) for channel in added]
            before += self.sizes[part]
        return sources


def channels_of(graph: Graph) -> Channels:
    layouts: dict[int, _Layout] = {0: (0,)}
    sizes = {0: graph.input_shape[2]}
    tied: dict[int, int] = {}
    fixed = {0}

    def group(member: int) -> int:
        while member in tied:
            member = tied[member]
        return member

    for place in graph.order:
        layer = graph.layer(place)
        given = [layouts[node] for node in layer.inputs]
        if layer.kind in (CONVOLUTION, DENSE):
            layouts[place] = (place,)
            sizes[place] = layer.settings[1]
            fixed |= {place} if layer.kind == DENSE else set()
        elif layer.kind == CONCATENATION:
            layouts[place] = given[0] + given[1]
        else:
            layouts[place] = given[0]
        if layer.kind == SUM and [sizes[part] for part in given[0]] == [sizes[part] for part in given[1]]:
            for one, other in zip(*given):
                first, second = sorted((group(one), group(other)))
                if first != second:
                    tied[second] = first
        elif layer.kind == SUM:
            fixed |= {*given[0], *given[1]}
    parts = [tuple(group(part) for part in layouts[node]) for node in range(graph.layers + 1)]
    return Channels(parts, sizes, {group(member) for member in fixed})


def widened(graph: Graph, channels: Channels, group: int, extra: int) -> Graph:
    """The layers that make and that read the channels of a group, with so many more."""

    def grown(size: int, node: int) -> int:
        return size + extra * channels.layouts[node].count(group)

    changed: dict[int, Layer] = {}
    for place, layer in enumerate(graph.listed, start=1):
        read, settings = layer.inputs[0], layer.settings
        if layer.kind in (CONVOLUTION, DENSE):
            both = (grown(settings[0], read), grown(settings[1], place))
            changed[place] = replace(layer, settings=(*both, *settings[2:]))
        elif layer.kind == NORMALIZATION:
            changed[place] = replace(layer, settings=(grown(settings[0], place),))
    return graph.with_layers((), changed)

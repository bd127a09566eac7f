"""The networks that a search starts from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable, Mapping

from graph import Graph
from layers import DENSE, GLOBAL_POOL, SUM, Layer, Shape, activation, convolution, normalization, pool


def start_graph(name: str, shape: tuple[int, int, int] | None = None, classes: int | None = None) -> Graph:
    """`name` is resnet50, lab, or the path of a model.json, which has a shape and classes of its own.

    ValueError: a sentence about a start graph that is none, or not one for this data.
    """
    graph = _made(name, shape, classes)
    _ = graph.flops  # the score is made of them
    return graph


def _made(name: str, shape: tuple[int, int, int] | None, classes: int | None) -> Graph:
    if name in _NAMED:
        build, own_shape, own_classes = _NAMED[name]
        return build(shape or own_shape, classes or own_classes)
    graph = _read(Path(name))
    if shape not in (None, graph.input_shape):
        raise ValueError(
            f"The start graph {name} is for images of {_sizes(graph.input_shape)}, the data's are {_sizes(shape)}."
        )
    if classes not in (None, graph.classes):
        raise ValueError(f"The start graph {name} tells {graph.classes} classes apart, the data has {classes}.")
    return graph


def _sizes(shape: Shape) -> str:
    return "x".join(map(str, shape))


def _read(path: Path) -> Graph:
    names = " nor ".join(sorted(_NAMED))
    try:
        return Graph.from_json(json.loads(path.read_text(encoding="utf-8")))
    except OSError as wrong:
        raise ValueError(
            f"The start graph {path} is neither {names} nor a file that can be read: {wrong.strerror}."
        ) from None
    except RecursionError:
        raise ValueError(f"The start graph {path} is no model.json: it is nested too deeply.") from None
    except ValueError as wrong:
        raise ValueError(f"The start graph {path} is no model.json of a network: {wrong}") from None


class _Builder:
    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.listed: list[Layer] = []

    def add(self, layer: Layer) -> int:
        self.listed.append(layer)
        return len(self.listed)

    def normalized(self, node: int, channels: int, filters: int, kernel: int, stride: int = 1) -> int:
        """Convolution, normalization, activation."""
        node = self.add(convolution(node, channels, filters, kernel, stride))
        return self.add(activation(self.add(normalization(node, filters))))

    def joined(self, node: int, beside: int) -> int:
        return self.add(activation(self.add(Layer(SUM, (node, beside)))))

    def graph(self, node: int, channels: int, classes: int) -> Graph:
        self.add(Layer(DENSE, (self.add(Layer(GLOBAL_POOL, (node,))),), (channels, classes)))
        return Graph.start(self.listed, self.shape)


def _lab(shape: tuple[int, int, int], classes: int) -> Graph:
    """Small enough for seconds on a slice of a core: two residual blocks."""
    made = _Builder(shape)
    node = made.normalized(0, shape[2], 16, kernel=3, stride=2)
    for channels, filters in ((16, 32), (32, 64)):
        inside = made.normalized(node, channels, filters, kernel=3, stride=2)
        inside = made.add(normalization(made.add(convolution(inside, filters, filters, 3)), filters))
        beside = made.add(normalization(made.add(convolution(node, channels, filters, 1, 2)), filters))
        node = made.joined(inside, beside)
    return made.graph(node, 64, classes)


def _resnet50(shape: tuple[int, int, int], classes: int) -> Graph:
    """AIPerf's: layers in its order, and strides in the first convolution of a block."""
    made = _Builder(shape)
    node = made.add(pool(made.normalized(0, shape[2], 64, kernel=7, stride=2), 3, 2))
    channels = 64
    for blocks, inner, first_stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            inside = made.normalized(node, channels, inner, 1, stride)
            inside = made.normalized(inside, inner, inner, 3)
            inside = made.add(convolution(inside, inner, 4 * inner, 1))
            beside = made.add(convolution(node, channels, 4 * inner, 1, stride)) if block == 0 else node
            inside = made.add(normalization(inside, 4 * inner))
            if block == 0:
                beside = made.add(normalization(beside, 4 * inner))
            channels = 4 * inner
            node = made.joined(inside, beside)
    return made.graph(node, channels, classes)


_NAMED: Mapping[str, tuple[Callable[[tuple[int, int, int], int], Graph], tuple[int, int, int], int]] = {
    "resnet50": (_resnet50, (224, 224, 3), 1000),
    "lab": (_lab, (28, 28, 1), 10),
}

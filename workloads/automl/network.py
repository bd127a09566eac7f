"""A graph as a module of PyTorch: the same layers of the same sizes, named by their places."""

from __future__ import annotations

from typing import Callable, Mapping

import torch
from graph import Graph
from layers import (
    ACTIVATION,
    CONCATENATION,
    CONVOLUTION,
    DENSE,
    GLOBAL_POOL,
    NORMALIZATION,
    POOL,
    SUM,
    Layer,
    strided,
)
from torch import Tensor, nn
from torch.nn import functional

EPSILON = 1e-5  # what a normalization adds to a variance


class Network(nn.Module):
    """Of images (number, channels, height, width) it makes logits. `dropout` is that of the inputs of the dense layer.

    The weights of a layer are `layers.<place>.<name>` in every network of a line of descent.
    """

    def __init__(self, graph: Graph, dropout: float = 0.0) -> None:
        super().__init__()
        self.graph = graph
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleDict(
            {str(place): _MODULES[layer.kind](layer) for place, layer in enumerate(graph.listed, start=1)}
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.at(self.graph.output, images)

    def at(self, node: int, images: Tensor) -> Tensor:
        """What a layer in the midst of the network gives."""
        graph = self.graph
        values, reads = {0: images}, {read: len(graph.readers[read]) for read in graph.readers}
        for place in graph.order:
            layer = graph.layer(place)
            inputs = [values[read] for read in layer.inputs]
            for read in layer.inputs:
                reads[read] -= 1
                if not reads[read]:
                    del values[read]  # its memory is needed for others
            if layer.kind == DENSE:
                inputs = [self.dropout(inputs[0])]
            values[place] = self.layers[str(place)](*inputs)
            if place == node:
                break
        return values[node]


class _Sum(nn.Module):
    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        return one + other


class _Concatenation(nn.Module):
    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        return torch.cat((one, other), dim=1)


class _GlobalPool(nn.Module):
    def forward(self, given: Tensor) -> Tensor:
        return given.mean(dim=(2, 3))


class _Pool(nn.Module):
    """The largest of each window; windows that begin inside the image count, as far as they reach."""

    def __init__(self, kernel: int, stride: int) -> None:
        super().__init__()
        self.kernel, self.stride = kernel, stride

    def forward(self, given: Tensor) -> Tensor:
        sides = []
        for size in (given.shape[3], given.shape[2]):
            missing = max(0, (strided(size, self.stride) - 1) * self.stride + self.kernel - size)
            sides += [missing // 2, missing - missing // 2]
        padded = functional.pad(given, sides, value=float("-inf")) if any(sides) else given
        return functional.max_pool2d(padded, self.kernel, self.stride)


def _convolution(layer: Layer) -> nn.Module:
    channels, filters, kernel, stride, padding = layer.settings
    module = nn.Conv2d(channels, filters, kernel, stride, padding, bias=False)
    nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return module


_MODULES: Mapping[str, Callable[[Layer], nn.Module]] = {
    CONVOLUTION: _convolution,
    NORMALIZATION: lambda layer: nn.BatchNorm2d(layer.settings[0], EPSILON),
    ACTIVATION: lambda _: nn.ReLU(),
    SUM: lambda _: _Sum(),
    CONCATENATION: lambda _: _Concatenation(),
    POOL: lambda layer: _Pool(layer.settings[0], layer.settings[1]),
    GLOBAL_POOL: lambda _: _GlobalPool(),
    DENSE: lambda layer: nn.Linear(layer.settings[0], layer.settings[1]),
}

"""ResNet-50 v1.5 in MindSpore: the stride of a stage sits in its 3x3 convolution. 25,557,032 parameters to train."""

from __future__ import annotations

import mindspore
from mindspore import nn
from mindspore.common.initializer import HeNormal

EXPANSION = 4


def convolution(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(
        inputs,
        outputs,
        size,
        stride,
        pad_mode="pad",
        padding=size // 2,
        has_bias=False,
        weight_init=HeNormal(mode="fan_out", nonlinearity="relu"),
    )


class Bottleneck(nn.Cell):
    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * EXPANSION
        self.reduce = nn.SequentialCell(convolution(inputs, width, 1), nn.BatchNorm2d(width))
        self.spatial = nn.SequentialCell(convolution(width, width, 3, stride), nn.BatchNorm2d(width))
        self.expand = nn.SequentialCell(convolution(width, outputs, 1), nn.BatchNorm2d(outputs))
        self.shortcut: nn.Cell = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.SequentialCell(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        self.relu = nn.ReLU()

    def construct(self, x: mindspore.Tensor) -> mindspore.Tensor:
        y = self.relu(self.reduce(x))
        y = self.relu(self.spatial(y))
        return self.relu(self.expand(y) + self.shortcut(x))


def stage(inputs: int, width: int, blocks: int, stride: int) -> nn.SequentialCell:
    first = Bottleneck(inputs, width, stride)
    rest = [Bottleneck(width * EXPANSION, width, 1) for _ in range(blocks - 1)]
    return nn.SequentialCell(first, *rest)


class ResNet50(nn.Cell):
    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.SequentialCell(
            convolution(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, pad_mode="pad", padding=1)
        )
        self.stages = nn.SequentialCell(
            stage(64, 64, blocks=3, stride=1),
            stage(256, 128, blocks=4, stride=2),
            stage(512, 256, blocks=6, stride=2),
            stage(1024, 512, blocks=3, stride=2),
        )
        self.head = nn.Dense(2048, classes)

    def construct(self, x: mindspore.Tensor) -> mindspore.Tensor:
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


def parameter_count(network: nn.Cell) -> int:
    return sum(parameter.size for parameter in network.trainable_params())

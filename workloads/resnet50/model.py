"""ResNet-50 v1.5: the stride of a stage sits in its 3x3 convolution. 1000 classes, 25,557,032 parameters."""

from __future__ import annotations

import torch
from torch import nn

EXPANSION = 4


def convolution(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * EXPANSION
        self.reduce = nn.Sequential(convolution(inputs, width, 1), nn.BatchNorm2d(width))
        self.spatial = nn.Sequential(convolution(width, width, 3, stride), nn.BatchNorm2d(width))
        self.expand = nn.Sequential(convolution(width, outputs, 1), nn.BatchNorm2d(outputs))
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.reduce(x))
        y = self.relu(self.spatial(y))
        return self.relu(self.expand(y) + self.shortcut(x))


def stage(inputs: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    first = Bottleneck(inputs, width, stride)
    rest = [Bottleneck(width * EXPANSION, width, 1) for _ in range(blocks - 1)]
    return nn.Sequential(first, *rest)


def resnet50(classes: int = 1000) -> nn.Sequential:
    model = nn.Sequential(
        nn.Sequential(convolution(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)),
        stage(64, 64, blocks=3, stride=1),
        stage(256, 128, blocks=4, stride=2),
        stage(512, 256, blocks=6, stride=2),
        stage(1024, 512, blocks=3, stride=2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2048, classes),
    )
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, Bottleneck):
            nn.init.zeros_(module.expand[1].weight)  # each block begins as its shortcut: small batches learn steadily
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.01)
    return model


def parameter_count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())

"""MobileNetV2: blocks that widen, convolve each channel by itself, and narrow again without a nonlinearity.

1000 classes, 3,504,872 parameters.
"""

from __future__ import annotations

import torch
from torch import nn

FIRST, LAST = 32, 1280  # channels before the blocks and after them
DROPPED = 0.2  # of what the classifier sees in training
# How many times as wide a block is inside, its channels, how many of them there are, the stride of the first.
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def convolution(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    layer = nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int, widening: int) -> None:
        super().__init__()
        width = inputs * widening
        self.widen = convolution(inputs, width, 1) if widening != 1 else nn.Identity()
        self.spatial = convolution(width, width, 3, stride, groups=width)
        self.narrow = nn.Sequential(nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.has_shortcut = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.narrow(self.spatial(self.widen(x)))
        return x + y if self.has_shortcut else y


def mobilenet_v2(classes: int = 1000) -> nn.Sequential:
    blocks: list[nn.Module] = []
    channels = FIRST
    for widening, outputs, count, stride in STAGES:
        for number in range(count):
            blocks.append(InvertedResidual(channels, outputs, stride if number == 0 else 1, widening))
            channels = outputs
    model = nn.Sequential(
        convolution(3, FIRST, 3, stride=2),
        *blocks,
        convolution(channels, LAST, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(DROPPED),
        nn.Linear(LAST, classes),
    )
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.01)
            nn.init.zeros_(module.bias)
    return model

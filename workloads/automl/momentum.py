"""Stochastic gradient descent with momentum, on all weights of a network as one vector.

That makes a step a few operations however many layers there are, and the gradients of all devices one sum. It also does
without torch.optim, whose first optimizer takes 0.7 seconds of a processor: every trial is a process of its own.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed
from ranks import Ranks

MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4


class Momentum:
    """`param_groups` and `step` are what a gradient scaler asks an optimizer for."""

    def __init__(self, network: torch.nn.Module) -> None:
        weights = list(network.parameters())
        size = sum(weight.numel() for weight in weights)
        self._vector = torch.nn.Parameter(torch.empty(size, device=weights[0].device))
        self._vector.grad = torch.zeros_like(self._vector)
        self._velocity = torch.zeros_like(self._vector.data)
        self.param_groups: list[dict[str, Any]] = [{"params": [self._vector]}]
        self.learning_rate = 0.0
        begin = 0
        for weight in weights:
            # As they lie in memory, whatever the order of their dimensions.
            shape, steps = weight.shape, weight.stride()
            place = torch.as_strided(self._vector.data, shape, steps, begin)
            place.copy_(weight.data)
            weight.data = place
            weight.grad = torch.as_strided(self._vector.grad, shape, steps, begin)
            begin += weight.numel()

    def clear(self) -> None:
        self._gradient.zero_()

    def average(self, ranks: Ranks) -> None:
        if not ranks.alone:
            torch.distributed.all_reduce(self._gradient)
            self._gradient.div_(ranks.world_size)

    def step(self) -> None:
        self._velocity.mul_(MOMENTUM).add_(self._gradient).add_(self._vector.data, alpha=WEIGHT_DECAY)
        self._vector.data.add_(self._velocity, alpha=-self.learning_rate)

    def check(self, ranks: Ranks) -> None:
        """That all ranks have the same weights: each has taken the same steps."""
        if ranks.alone:
            return
        mine = self._vector.data.sum()
        ends = torch.stack((mine, -mine))
        torch.distributed.all_reduce(ends, op=torch.distributed.ReduceOp.MAX)
        if ends[0] != -ends[1]:
            raise RuntimeError(f"rank {ranks.rank} has other weights than another: their sum is {mine.item()}")

    @property
    def _gradient(self) -> torch.Tensor:
        gradient = self._vector.grad
        assert gradient is not None
        return gradient

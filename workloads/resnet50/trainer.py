"""The network, and what one rank does with a batch: a training step, or counting what it gets right."""

from __future__ import annotations

import inspect
import json
from typing import Any, Callable, Iterable, Tuple

import torch
import torch.distributed
from devices import total
from flags import Flags
from mixed_precision import autocast, gradient_scaler
from mobilenetv2 import mobilenet_v2
from model import resnet50
from ranks import Ranks
from torch import nn
from torch.nn.parallel import DistributedDataParallel

LEARNING_RATE = 0.01
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4

NETWORKS: dict[str, Callable[[int], nn.Module]] = {"resnet50": resnet50, "mobilenetv2": mobilenet_v2}

Batch = Tuple[torch.Tensor, torch.Tensor]
Loss = Callable[[], float]


class Trainer:
    def __init__(self, flags: Flags, ranks: Ranks, device: torch.device, classes: int) -> None:
        torch.manual_seed(flags.seed)
        self.ranks, self.device = ranks, device
        self.precision = flags.precision
        self.network = NETWORKS[flags.network](classes).to(device=device, memory_format=torch.channels_last)
        self.model = self.network if ranks.alone else _distributed(self.network, device)
        self.optimizer = _optimizer(self.network, device)
        self.scaler = gradient_scaler(device, flags.precision)

    @property
    def steps_ahead(self) -> int:
        """How many steps may be handed to the device before the loss of the first is asked for."""
        return 1 if self.device.type == "cuda" else 0

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> Loss:
        """Returns what waits for the end of the step and gives its loss."""
        self.optimizer.zero_grad(set_to_none=True)
        with autocast(self.device, self.precision):
            loss = nn.functional.cross_entropy(self.model(images), labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return self._delivery(loss.detach())

    def evaluate(self, batches: Iterable[Batch]) -> tuple[int, float, float]:
        """Images seen by all ranks, the share of them whose class was found, and their mean loss."""
        self._average_statistics()
        self.network.eval()
        images, correct, loss = 0, 0, 0.0
        with torch.no_grad():
            for pixels, labels in batches:
                with autocast(self.device, self.precision):
                    scores = self.network(pixels)
                images += len(labels)
                correct += int((scores.argmax(dim=1) == labels).sum())
                loss += float(nn.functional.cross_entropy(scores.float(), labels, reduction="sum"))
        self.network.train()
        images, correct = total([images, correct], self.ranks, self.device)
        (loss,) = total([loss], self.ranks, self.device)
        return images, correct / images, loss / images

    def state(self) -> dict[str, Any]:
        """What a training goes on from, as tensors and text: all that every version reads without running code."""
        self._average_statistics()
        return {
            "model": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict()["state"],
            "scaler": json.dumps(self.scaler.state_dict()),
            "rng": torch.get_rng_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["model"])
        settings = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state["optimizer"], "param_groups": settings})
        self.scaler.load_state_dict(json.loads(state["scaler"]))
        torch.set_rng_state(state["rng"])

    def _delivery(self, loss: torch.Tensor) -> Loss:
        if not self.steps_ahead:
            return lambda: float(loss.item())
        # Asking the loss itself would wait for all work given to the device by then, of the next step too.
        arrival = torch.empty_like(loss, device="cpu").pin_memory()
        arrival.copy_(loss, non_blocking=True)
        done = torch.cuda.Event()
        done.record()

        def wait() -> float:
            done.synchronize()
            return float(arrival)

        return wait

    def _average_statistics(self) -> None:
        """Every rank keeps its own running statistics of batch norm; what is evaluated or kept is their mean."""
        if self.ranks.alone:
            return
        statistics = [buffer for buffer in self.network.buffers() if buffer.is_floating_point()]
        together = torch.cat([buffer.flatten() for buffer in statistics])
        torch.distributed.all_reduce(together)
        parts = (together / self.ranks.world_size).split([buffer.numel() for buffer in statistics])
        for buffer, part in zip(statistics, parts):
            buffer.copy_(part.view_as(buffer))


def _distributed(network: nn.Module, device: torch.device) -> nn.Module:
    # The running statistics of batch norm are not used while training.
    known = inspect.signature(DistributedDataParallel).parameters
    buffers = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"
    return DistributedDataParallel(
        network,
        device_ids=None if device.type == "cpu" else [device.index],
        gradient_as_bucket_view=True,
        **{buffers: False},
    )


def _optimizer(network: nn.Module, device: torch.device) -> torch.optim.Optimizer:
    settings: dict[str, Any] = {"lr": LEARNING_RATE, "momentum": MOMENTUM, "weight_decay": WEIGHT_DECAY}
    if device.type != "npu" and "fused" in inspect.signature(torch.optim.SGD).parameters:
        try:
            return torch.optim.SGD(network.parameters(), fused=True, **settings)
        except RuntimeError:  # versions whose fused kernels are for other devices
            pass
    return torch.optim.SGD(network.parameters(), **settings)

"""The same network in PyTorch, with DistributedDataParallel where Horovod stands in the other program."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterable

import devices
import torch
from checkpoint_file import Content
from checkpoints import TorchCheckpoint
from digits import Batch, Digits
from flags import Flags
from ranks import Ranks
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

LEARNING_RATE = 0.001  # of one rank; more ranks take larger steps
EPSILON = 1e-7  # of Keras' Adam
CHECKPOINTS = Path("checkpoints")


class PyTorchTrainer:
    def __init__(self, flags: Flags, ranks: Ranks, device: torch.device, data: Digits) -> None:
        self.flags, self.ranks, self.device = flags, ranks, device
        torch.manual_seed(flags.seed)
        self.network = network(data.size, data.classes).to(device)
        self.model: Any = self.network
        if not ranks.alone:
            ids = None if device.type == "cpu" else [device.index]
            self.model = DistributedDataParallel(self.network, device_ids=ids, gradient_as_bucket_view=True)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE * ranks.world_size, eps=EPSILON)
        torch.manual_seed(flags.seed + ranks.rank)  # of the dropout

    def facts(self) -> dict[str, object]:
        return devices.facts(self.device)

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())

    def step(self, batch: Batch) -> float:
        pixels, labels = self._tensors(batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss = cross_entropy(self.model(pixels), labels)
        loss.backward()
        self.optimizer.step()
        return float(loss.item())

    def scores(self, batches: Iterable[Batch]) -> tuple[int, int, float]:
        images, right, loss = 0, 0, 0.0
        self.network.eval()
        with torch.no_grad():
            for pixels, labels in map(self._tensors, batches):
                found = self.network(pixels)
                images += len(labels)
                right += int((found.argmax(dim=1) == labels).sum())
                loss += float(cross_entropy(found, labels, reduction="sum"))
        self.network.train()
        return images, right, loss

    def total(self, numbers: list[float]) -> list[float]:
        return [float(number) for number in devices.total(numbers, self.ranks, self.device)]

    def weights(self) -> float:
        return sum(float(parameter.detach().double().sum()) for parameter in self.network.parameters())

    def save(self, epoch: int) -> None:
        file = TorchCheckpoint(CHECKPOINTS, f"checkpoint-{epoch}.pt")
        file.prepare()
        file.write(Content(epoch, self.flags.facts(), self.network.state_dict()))

    def _tensors(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        pixels, labels = torch.from_numpy(batch.pixels[:, None]), torch.from_numpy(batch.labels)
        return pixels.to(self.device), labels.to(self.device)


def network(size: tuple[int, int], classes: int) -> nn.Module:
    height, width = ((side - 4) // 2 for side in size)
    layers = nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(64 * height * width, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, classes),
    )
    for layer in layers:
        if isinstance(layer, (nn.Conv2d, nn.Linear)):  # weights begin as those of Keras do
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return layers

"""The network, and what one rank does with a batch: a training step, or counting what it gets right."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Iterable, NamedTuple

import torch
from devices import total
from flags import Flags
from mixed_precision import autocast, gradient_scaler
from model import Bert
from ranks import Ranks
from text import Batch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WEIGHT_DECAY = 0.01
LARGEST_GRADIENT = 1.0


class Evaluated(NamedTuple):
    sequences: int
    accuracy: float
    loss: float


class Trainer:
    def __init__(self, flags: Flags, ranks: Ranks, device: torch.device) -> None:
        torch.manual_seed(flags.seed)
        self.flags, self.ranks, self.device = flags, ranks, device
        self.network = Bert(
            layers=flags.layers,
            hidden=flags.hidden,
            heads=flags.heads,
            ffn=flags.ffn,
            vocabulary=flags.vocabulary,
            sequence=flags.sequence,
            dropout=flags.dropout,
        ).to(device)
        self.model: Any = self.network
        if not ranks.alone:
            ids = None if device.type == "cpu" else [device.index]
            self.model = DistributedDataParallel(self.network, device_ids=ids, gradient_as_bucket_view=True)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=flags.learning_rate, weight_decay=WEIGHT_DECAY)
        self.scaler = gradient_scaler(device, flags.precision)

    def step(self, number: int, batch: Batch) -> float:
        """The loss of this rank's batch."""
        flags = self.flags
        for group in self.optimizer.param_groups:
            group["lr"] = flags.learning_rate * min(1.0, number / max(1, flags.ramp))
        self.optimizer.zero_grad(set_to_none=True)
        parts = list(zip(*(tensor.chunk(flags.accumulate) for tensor in batch)))
        losses = [self._backward(Batch(*part), is_last=part is parts[-1]) for part in parts]
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.network.parameters(), LARGEST_GRADIENT)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return float(torch.stack(losses).sum())

    def evaluate(self, batches: Iterable[Batch]) -> Evaluated:
        """`batches` are this rank's; the numbers are of all ranks."""
        sequences, places, correct, loss = 0, 0, 0, 0.0
        self.network.eval()
        with torch.no_grad():
            for tokens, masked, labels in (self._moved(batch) for batch in batches):
                with autocast(self.device, self.flags.precision):
                    scores = self.network(tokens, masked).flatten(0, 1).float()
                sequences += len(tokens)
                places += labels.numel()
                correct += int((scores.argmax(dim=1) == labels.flatten()).sum())
                loss += float(nn.functional.cross_entropy(scores, labels.flatten(), reduction="sum"))
        self.network.train()
        sequences, places, correct = total([sequences, places, correct], self.ranks, self.device)
        (loss,) = total([loss], self.ranks, self.device)
        return Evaluated(sequences, correct / places, loss / places)

    def _backward(self, part: Batch, is_last: bool) -> torch.Tensor:
        """Ranks share their gradients once a step, with its last part."""
        tokens, places, labels = self._moved(part)
        with nullcontext() if is_last or self.ranks.alone else self.model.no_sync():
            with autocast(self.device, self.flags.precision):
                scores = self.model(tokens, places)
            loss = nn.functional.cross_entropy(scores.flatten(0, 1).float(), labels.flatten())
            loss = loss / self.flags.accumulate
            self.scaler.scale(loss).backward()
        return loss.detach()

    def _moved(self, batch: Batch) -> Batch:
        return Batch(*(tensor.to(self.device, non_blocking=True) for tensor in batch))

"""The decoder on one rank or spread over all, and a training step."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.distributed
from flags import Flags
from model import Decoder, Rotation, fill, next_token_loss
from ranks import Ranks
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

BETAS = (0.9, 0.95)
WEIGHT_DECAY = 0.1
LONGEST_GRADIENT = 1.0
LAST_RATE = 0.1  # of the learning rate of the first step
PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


class Trainer:
    def __init__(self, flags: Flags, ranks: Ranks, device: torch.device) -> None:
        self.flags, self.device = flags, device
        self.precision = PRECISIONS[flags.precision]
        rotation = Rotation(flags.shape, device)
        with torch.device("meta"):  # without memory yet
            self.decoder = Decoder(flags.shape, self.precision, rotation, flags.checkpointing == "full")
        self.parameters = sum(weight.numel() for weight in self.decoder.parameters())
        self.sharded = flags.shard == "full" and not ranks.alone
        self._fill_and_shard(ranks)
        self.model = self.decoder if ranks.alone or self.sharded else _replicated(self.decoder, device)
        self.optimizer = torch.optim.AdamW(
            self.decoder.parameters(),
            lr=flags.learning_rate,
            betas=BETAS,
            weight_decay=WEIGHT_DECAY,
            fused=device.type != "npu",
        )
        self.scaler = torch.amp.GradScaler(device.type, enabled=flags.precision == "fp16")
        self._steps_done = 0

    def step(self, tokens: torch.Tensor) -> float:
        """`tokens` are all sequences of this rank in the step. Returns their mean loss."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.gradients(tokens)
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.decoder.parameters(), LONGEST_GRADIENT)
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self._steps_done += 1
        return float(loss)

    def gradients(self, tokens: torch.Tensor) -> torch.Tensor:
        parts = tokens.split(self.flags.batch)
        losses = []
        for number, part in enumerate(parts, start=1):
            with self._without_exchange() if number < len(parts) else nullcontext():
                with self._autocast():
                    loss = next_token_loss(self.model(part), part) / len(parts)
                self.scaler.scale(loss).backward()
            losses.append(loss.detach())
        return torch.stack(losses).sum()

    def _without_exchange(self) -> AbstractContextManager[Any]:
        """Sharded gradients are exchanged after every pass: to keep them would take the memory that sharding saves."""
        return self.model.no_sync() if isinstance(self.model, DistributedDataParallel) else nullcontext()

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.sharded or self.precision is torch.float32:
            return nullcontext()  # sharded weights are cast where they are gathered
        return torch.autocast(self.device.type, dtype=self.precision)

    def _learning_rate(self) -> float:
        """Half a cosine from the first step to the last."""
        done = self._steps_done / max(1, self.flags.total_steps - 1)
        share = LAST_RATE + (1 - LAST_RATE) * (1 + math.cos(math.pi * done)) / 2
        return self.flags.learning_rate * share

    def _fill_and_shard(self, ranks: Ranks) -> None:
        """Layer by layer, so that a rank never holds more than one of them whole."""
        flags, decoder = self.flags, self.decoder
        parts: list[nn.Module] = [*decoder.layers, decoder.embedding, decoder.norm, decoder.head]
        how: dict[str, Any] = {}
        if self.sharded:
            how["mesh"] = init_device_mesh(self.device.type, (ranks.world_size,))
            if self.precision is not torch.float32:
                how["mp_policy"] = MixedPrecisionPolicy(param_dtype=self.precision, reduce_dtype=torch.float32)
        for number, part in enumerate(parts):
            fill(part, flags.shape, self.device, flags.seed * 1_000_003 + number)
            if flags.compile and part in decoder.layers:
                part.compile()
            if self.sharded:
                fully_shard(part, **how)
        if self.sharded:
            fully_shard(decoder, **how)


def _replicated(decoder: nn.Module, device: torch.device) -> nn.Module:
    return DistributedDataParallel(
        decoder, device_ids=None if device.type == "cpu" else [device.index], gradient_as_bucket_view=True
    )

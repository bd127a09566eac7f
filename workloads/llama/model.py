"""A decoder as Llama's: RMSNorm, rotary positions, grouped-query attention, SwiGLU, and a head of its own."""

from __future__ import annotations

import math

import torch
from flags import Shape
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

EPSILON = 1e-5
SPREAD = 0.02  # of the weights at the beginning
IGNORED = -100  # a target that the loss passes over


class Norm(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), EPSILON)


class Rotation:
    """Turns pairs of values by an angle that grows with their position (RoPE)."""

    def __init__(self, shape: Shape, device: torch.device) -> None:
        half = shape.head_size // 2
        speeds = shape.rope_base ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.arange(shape.seq, dtype=torch.float64)[:, None, None] * speeds
        self._cos, self._sin = (part.to(device, torch.float32) for part in (angles.cos(), angles.sin()))

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        cos, sin = self._cos, self._sin
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, shape: Shape, rotation: Rotation) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_size = shape.heads, shape.kv_heads, shape.head_size
        self.rotation = rotation
        # Queries, keys and values in one product.
        self.inward = nn.Linear(shape.hidden, (shape.heads + 2 * shape.kv_heads) * shape.head_size, bias=False)
        self.outward = nn.Linear(shape.hidden, shape.hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, seq, hidden = x.shape
        by_head = self.inward(x).view(batch, seq, -1, self.head_size)
        turned, values = by_head.split([self.heads + self.kv_heads, self.kv_heads], dim=2)
        queries, keys = self.rotation(turned).split([self.heads, self.kv_heads], dim=2)
        queries, keys, values = (part.transpose(1, 2) for part in (queries, keys, values))
        mixed = functional.scaled_dot_product_attention(
            queries, keys, values, is_causal=True, enable_gqa=self.heads != self.kv_heads
        )
        return self.outward(mixed.transpose(1, 2).reshape(batch, seq, hidden))


class FeedForward(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.inward = nn.Linear(shape.hidden, 2 * shape.ffn, bias=False)
        self.outward = nn.Linear(shape.ffn, shape.hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, value = self.inward(x).chunk(2, dim=-1)
        return self.outward(functional.silu(gate) * value)


class Layer(nn.Module):
    def __init__(self, shape: Shape, rotation: Rotation, checkpointing: bool) -> None:
        super().__init__()
        self.checkpointing = checkpointing
        self.attention_norm, self.attention = Norm(shape.hidden), Attention(shape, rotation)
        self.feed_forward_norm, self.feed_forward = Norm(shape.hidden), FeedForward(shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(self._compute, x, use_reentrant=False) if self.checkpointing else self._compute(x)

    def _compute(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class Decoder(nn.Module):
    """`precision` is what it computes in; weights that are of another are cast by whoever calls it."""

    def __init__(self, shape: Shape, precision: torch.dtype, rotation: Rotation, checkpointing: bool) -> None:
        super().__init__()
        self.precision = precision
        self.embedding = nn.Embedding(shape.vocab, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape, rotation, checkpointing) for _ in range(shape.layers))
        self.norm = Norm(shape.hidden)
        self.head = nn.Linear(shape.hidden, shape.vocab, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens).to(self.precision)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def next_token_loss(scores: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """The last token of a sequence has no next one."""
    targets = torch.full_like(tokens, IGNORED)
    targets[:, :-1] = tokens[:, 1:]
    return functional.cross_entropy(scores.flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORED)


def fill(module: nn.Module, shape: Shape, device: torch.device, seed: int) -> None:
    """Gives memory and first values to a module that was made without: of its seed alone, on any number of ranks."""
    module.to_empty(device=device)
    generator = torch.Generator(device=device).manual_seed(seed)
    for name, weight in module.named_parameters():
        if weight.dim() == 1:
            nn.init.ones_(weight)
        else:
            # What is added to the stream of every layer begins smaller, so that their sum does not grow with them.
            depth = math.sqrt(2 * shape.layers) if "outward" in name else 1.0
            nn.init.normal_(weight, std=SPREAD / depth, generator=generator)

"""BERT's encoder with the head that names masked tokens."""

from __future__ import annotations

import torch
from torch import nn

DEVIATION = 0.02  # of weights at the beginning


class Bert(nn.Module):
    """Layers normalise their input rather than their output: large ones then learn from random weights, too."""

    def __init__(
        self, *, layers: int, hidden: int, heads: int, ffn: int, vocabulary: int, sequence: int, dropout: float
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, hidden)
        self.places = nn.Embedding(sequence, hidden)
        self.input_norm = nn.LayerNorm(hidden)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(hidden, heads, ffn, dropout, "gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.transform = nn.Linear(hidden, hidden)
        self.output_norm = nn.LayerNorm(hidden)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=DEVIATION)

    def forward(self, tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Scores of all tokens for these places of each sequence."""
        states = self.input_norm(self.tokens(tokens) + self.places.weight[: tokens.shape[1]])
        for block in self.blocks:
            states = block(states)
        states = states.gather(1, places.unsqueeze(-1).expand(-1, -1, states.shape[-1]))
        states = self.output_norm(nn.functional.gelu(self.transform(states)))
        return nn.functional.linear(states, self.tokens.weight, self.bias)


def parameter_count(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())

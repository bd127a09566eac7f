"""The decoder once more, token by token and head by head, from the weights of the one that trains.

Runs where PyTorch is, with the workload's folder and flags; prints the loss by hand and that of the training.
"""

from __future__ import annotations

import json
import sys

sys.path.insert(0, sys.argv[1])
import flags
import torch
from ranks import Ranks
from trainer import Trainer


def norm(x, name):
    return x / (x.pow(2).mean() + 1e-5).sqrt() * weights[name]


def turned(x, place):
    out, half = x.clone(), len(x) // 2
    for i in range(half):
        angle = torch.tensor(place * shape.rope_base ** (-i / half), dtype=torch.float64)
        out[i] = x[i] * angle.cos() - x[i + half] * angle.sin()
        out[i + half] = x[i + half] * angle.cos() + x[i] * angle.sin()
    return out


def attention(by_head, here):
    heads = []
    for head in range(shape.heads):
        shared = shape.heads + head // (shape.heads // shape.kv_heads)
        query = turned(by_head[here][head], here)
        keys = torch.stack([turned(by_head[there][shared], there) for there in range(here + 1)])
        values = torch.stack([by_head[there][shared + shape.kv_heads] for there in range(here + 1)])
        heads.append(torch.softmax(keys @ query / shape.head_size**0.5, dim=0) @ values)
    return torch.cat(heads)


def layer(stream, at):
    inward = weights[at + "attention.inward.weight"]
    by_head = [(inward @ norm(x, at + "attention_norm.weight")).view(-1, shape.head_size) for x in stream]
    after = []
    for here, x in enumerate(stream):
        x = x + weights[at + "attention.outward.weight"] @ attention(by_head, here)
        gate, value = (weights[at + "feed_forward.inward.weight"] @ norm(x, at + "feed_forward_norm.weight")).chunk(2)
        after.append(x + weights[at + "feed_forward.outward.weight"] @ (gate / (1 + (-gate).exp()) * value))
    return after


asked = flags.parse("test", None, json.loads(sys.argv[2]))
trainer = Trainer(asked, Ranks(0, 0, 1), torch.device("cpu"))
shape, weights = asked.shape, {name: value.detach().double() for name, value in trainer.decoder.named_parameters()}
tokens = torch.randint(shape.vocab, (1, shape.seq), generator=torch.Generator().manual_seed(3))
stream = [weights["embedding.weight"][token] for token in tokens[0]]
for number in range(shape.layers):
    stream = layer(stream, f"layers.{number}.")
scores = torch.stack([weights["head.weight"] @ norm(x, "norm.weight") for x in stream])
loss = -torch.log_softmax(scores, 1)[range(shape.seq - 1), tokens[0, 1:]].mean()
print(json.dumps([float(loss), float(trainer.gradients(tokens))]))

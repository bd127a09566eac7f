"""Our training step of the decoder against a plain loop, and against the time that its matrix products alone take.

Needs a Python that has PyTorch 2.6 or newer and NumPy:

python bench/llama.py --layers 4 --hidden 512 --heads 8 --kv-heads 4 --ffn 1376 --vocab 2048 --seq 256 --batch 4

The three take turns. The plain loop has a decoder of its own, written as tutorials write it. The products are those of
the linear layers, forwards and backwards, in their own sizes and with nothing between them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workloads" / name) for name in ("llama", "common")]
import flags  # noqa: E402
import torch  # noqa: E402
import turns  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

SIZES = {"layers": 4, "hidden": 512, "heads": 8, "kv_heads": 4, "ffn": 1376, "vocab": 2048, "seq": 256}


class PlainNorm(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class PlainLayer(nn.Module):
    def __init__(self, shape: flags.Shape) -> None:
        super().__init__()
        self.shape = shape
        hidden, keys = shape.hidden, shape.kv_heads * shape.head_size
        self.norm1, self.norm2 = PlainNorm(hidden), PlainNorm(hidden)
        self.wq, self.wo = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.wk, self.wv = nn.Linear(hidden, keys, bias=False), nn.Linear(hidden, keys, bias=False)
        self.w1, self.w3 = nn.Linear(hidden, shape.ffn, bias=False), nn.Linear(hidden, shape.ffn, bias=False)
        self.w2 = nn.Linear(shape.ffn, hidden, bias=False)

    def forward(self, x: torch.Tensor, turns_of_places: torch.Tensor) -> torch.Tensor:
        shape, (batch, seq, _) = self.shape, x.shape
        y = self.norm1(x)
        q = rotate(self.wq(y).view(batch, seq, shape.heads, -1), turns_of_places)
        k = rotate(self.wk(y).view(batch, seq, shape.kv_heads, -1), turns_of_places)
        v = self.wv(y).view(batch, seq, shape.kv_heads, -1)
        k, v = (part.repeat_interleave(shape.heads // shape.kv_heads, dim=2) for part in (k, v))
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(y.transpose(1, 2).reshape(batch, seq, -1))
        y = self.norm2(x)
        return x + self.w2(functional.silu(self.w1(y)) * self.w3(y))


def rotate(x: torch.Tensor, turns_of_places: torch.Tensor) -> torch.Tensor:
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns_of_places).flatten(3).type_as(x)


class PlainDecoder(nn.Module):
    def __init__(self, shape: flags.Shape) -> None:
        super().__init__()
        self.embedding = nn.Embedding(shape.vocab, shape.hidden)
        self.layers = nn.ModuleList(PlainLayer(shape) for _ in range(shape.layers))
        self.norm, self.head = PlainNorm(shape.hidden), nn.Linear(shape.hidden, shape.vocab, bias=False)
        speeds = 1 / shape.rope_base ** (torch.arange(0, shape.head_size, 2).float() / shape.head_size)
        angles = torch.outer(torch.arange(shape.seq).float(), speeds)
        self.register_buffer("turns_of_places", torch.polar(torch.ones_like(angles), angles)[:, None])

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.turns_of_places)
        return self.head(self.norm(x))


def plain_step(asked: flags.Flags) -> turns.Step:
    torch.manual_seed(1)
    shape = asked.shape
    model = PlainDecoder(shape)
    optimizer = torch.optim.AdamW(model.parameters(), lr=asked.learning_rate, betas=(0.9, 0.95), weight_decay=0.1)
    tokens = torch.randint(shape.vocab, (asked.batch, shape.seq + 1))
    mixed = torch.autocast("cpu", dtype=torch.bfloat16, enabled=asked.precision == "bf16")

    def step() -> float:
        optimizer.zero_grad()
        with mixed:
            scores = model(tokens[:, :-1])
            loss = functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return step


def our_step(asked: flags.Flags) -> turns.Step:
    import devices
    import texts
    from ranks import Ranks
    from trainer import Trainer

    alone, cpu = Ranks(rank=0, local_rank=0, world_size=1), torch.device("cpu")
    devices.prepare(cpu, deterministic=False)
    trainer, made_up = Trainer(asked, alone, cpu), texts.SyntheticText(asked, alone)
    return lambda: trainer.step(made_up.of_step(1))


def linear_layers(shape: flags.Shape) -> list[tuple[int, int]]:
    """Inputs and outputs of each, as a decoder has them that computes as much as it can at once."""
    inward = (shape.heads + 2 * shape.kv_heads) * shape.head_size
    hidden, ffn = shape.hidden, shape.ffn
    layer = [(hidden, inward), (hidden, hidden), (hidden, 2 * ffn), (ffn, hidden)]
    return [*layer * shape.layers, (hidden, shape.vocab)]


def products_step(asked: flags.Flags) -> turns.Step:
    """The output, the gradient of the input and that of the weight, of each layer."""
    tokens = asked.batch * asked.shape.seq
    number = torch.bfloat16 if asked.precision == "bf16" else torch.float32
    made = [
        [torch.randn(size).to(number) for size in ((tokens, inputs), (outputs, inputs), (tokens, outputs))]
        for inputs, outputs in linear_layers(asked.shape)
    ]
    results = [[torch.empty_like(part) for part in (y, x, weight)] for x, weight, y in made]

    def step() -> None:
        for (x, weight, y), (of_output, of_input, of_weight) in zip(made, results):
            torch.mm(x, weight.t(), out=of_output)
            torch.mm(y, weight, out=of_input)
            torch.mm(y.t(), x, out=of_weight)

    return step


STEPS = {"plain": plain_step, "ours": our_step, "products": products_step}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, size in SIZES.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=size)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    turns.add_options(parser)
    options = parser.parse_args()
    words = [f"--{name.replace('_', '-')}={getattr(options, name)}" for name in (*SIZES, "batch", "precision")]
    asked = flags.parse("bench", None, ["--device=cpu", *words])
    tokens = options.batch * options.seq
    print(f"Decoder, {' '.join(words)}, {options.threads} threads, PyTorch {torch.__version__}:")
    found = turns.measure({name: partial(make, asked) for name, make in STEPS.items()}, options)
    for name, seconds in found.items():
        each = " ".join(f"{one * 1e3:.0f}" for one in seconds)
        middle = statistics.median(seconds)
        print(f"  {name:8} {middle * 1e3:8.1f} ms a step, {tokens / middle:9.0f} tokens/s   {each}")
    of_linear = 6 * tokens * sum(inputs * outputs for inputs, outputs in linear_layers(asked.shape))
    of_attention = 6 * tokens * options.layers * options.hidden * options.seq  # half of them: a token sees earlier ones
    print(f"  the products come to {of_linear / statistics.median(found['products']) / 1e9:.0f} GFLOP/s")
    print(f"  ours is {turns.ratios(found['ours'], found['plain'])} times as fast as the plain loop")
    all_products = [seconds * (1 + of_attention / of_linear) for seconds in found["products"]]
    print(f"  ours takes {turns.ratios(all_products, found['ours'])} times as long as its products would at this rate,")
    print(f"  with {of_attention / of_linear:.1%} for those of attention")


if __name__ == "__main__":
    main()

"""The flags of the training script."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path

from arguments import Parser, count, positive
from outcome import UsageError

NOT_KNOWN = "none"


@dataclass(frozen=True)
class Shape:
    """Of the decoder. `seq` is how many tokens it sees at once, `ffn` the inner width of its feed-forward part."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    seq: int
    rope_base: float

    @property
    def head_size(self) -> int:
        return self.hidden // self.heads


@dataclass(frozen=True)
class Flags:
    """`peak_tflops` is of one device at this precision; None where nobody has said it, as with `nominal_parameters`."""

    shape: Shape
    batch: int
    accumulate: int
    precision: str
    steps: int
    warmup: int
    learning_rate: float
    shard: str
    checkpointing: str
    compile: bool
    device: str
    data: Path | None
    seed: int
    peak_tflops: float | None
    nominal_parameters: float | None

    @property
    def total_steps(self) -> int:
        return self.warmup + self.steps

    @property
    def sequences(self) -> int:
        """Of one device in one step."""
        return self.batch * self.accumulate

    def facts(self) -> dict[str, object]:
        """What the log says of them."""
        told = ("batch", "accumulate", "precision", "steps", "warmup", "learning_rate", "shard", "checkpointing")
        rest = ("compile", "seed", "peak_tflops", "nominal_parameters")
        return {**asdict(self.shape), **{name: getattr(self, name) for name in (*told, *rest)}}


def parse(program: str, description: str | None, arguments: list[str]) -> Flags:
    parser = Parser(prog=program, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--batch", type=count(1), default=1, help="sequences per device and forward pass (default %(default)s)")
    add("--accumulate", type=count(1), default=1, help="forward passes per step (default %(default)s)")
    add("--precision", choices=["fp32", "fp16", "bf16"], default="fp32")
    add("--steps", type=count(1), default=100, help="steps after the warm-up (default %(default)s)")
    add("--warmup", type=count(0), default=20, help="steps before them (default %(default)s)")
    add("--layers", type=count(1), default=2)
    add("--hidden", type=count(2), default=128)
    add("--heads", type=count(1), default=4)
    add("--kv-heads", type=count(1), default=2, help="heads of keys and values, which others share (default 2)")
    add("--ffn", type=count(1), default=344)
    add("--vocab", type=count(2), default=512)
    add("--seq", type=count(2), default=128, help="tokens in a sequence (default %(default)s)")
    add("--rope-base", type=positive, default=10000.0)
    add("--learning-rate", type=positive, default=1e-5, help="of the first step; a tenth of it is that of the last")
    add("--shard", choices=["none", "full"], default="none", help="full: weights, gradients and optimizer, by layer")
    add("--checkpointing", choices=["none", "full"], default="none", help="full: compute activations a second time")
    add("--compile", action="store_true", help="compile every layer with torch.compile")
    add("--device", choices=["auto", "cpu", "cuda", "npu"], default="auto")
    add("--data", type=Path, metavar="FILE", help=".npy of tokens, or a folder with one (default: synthetic text)")
    add("--seed", type=count(0), default=1)
    add("--peak-tflops", type=_known, default=None, help="of one device at this precision, for MFU; or none")
    add("--nominal-parameters", type=_known, default=None, help="by which FlagPerf reckons MFU, as in 7e9; or none")
    given = vars(parser.parse_args(arguments))
    shape = Shape(**{name: given.pop(name) for name in Shape.__dataclass_fields__})
    _check(shape)
    return Flags(shape=shape, **given)


def _check(shape: Shape) -> None:
    if shape.hidden % (2 * shape.heads):
        raise UsageError(
            f"--hidden {shape.hidden} cannot be divided among --heads {shape.heads}: every head takes an even part"
        )
    if shape.heads % shape.kv_heads:
        raise UsageError(f"--heads {shape.heads} cannot share --kv-heads {shape.kv_heads}: give a divisor of the heads")


def _known(text: str) -> float | None:
    if text == NOT_KNOWN:
        return None
    try:
        return positive(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, or {NOT_KNOWN} where it is not known") from error

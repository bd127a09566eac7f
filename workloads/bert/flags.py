"""The flags of the training script."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arguments import Parser, Target, add_targets, count, positive
from outcome import UsageError

FEWEST_TOKENS = 4  # that a vocabulary needs, with that of masked places


@dataclass(frozen=True)
class Flags:
    batch: int
    accumulate: int
    precision: str
    steps: int
    warmup: int
    target_accuracy: float | None
    target_loss: float | None
    evaluate_every: int
    evaluation_sequences: int
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocabulary: int
    mask_token: int
    sequence: int
    dropout: float
    learning_rate: float
    ramp: int
    device: str
    data: Path | None
    seed: int
    deterministic: bool

    @property
    def total_steps(self) -> int:
        return self.warmup + self.steps

    def facts(self) -> dict[str, object]:
        """What the log says of them."""
        return {name: value for name, value in vars(self).items() if name not in ("device", "data")}

    def evaluates_after(self, step: int) -> bool:
        return step == self.total_steps or step % self.evaluate_every == 0

    @property
    def target(self) -> Target:
        return Target(self.target_accuracy, self.target_loss)


def _share(text: str) -> float:
    return 0.0 if text in ("0", "0.0") else positive(text)


def parse(program: str, description: str | None, arguments: list[str]) -> Flags:
    parser = Parser(prog=program, description=description)
    add = parser.add_argument
    add("--batch", type=count(1), default=16, help="sequences per device and step (default %(default)s)")
    add("--accumulate", type=count(1), default=1, help="parts of a batch, one after the other on the device")
    add("--precision", choices=["fp32", "fp16", "bf16"], default="fp32")
    add("--steps", type=count(1), default=300, help="steps at most after the warm-up (default %(default)s)")
    add("--warmup", type=count(0), default=0, help="steps before them (default %(default)s)")
    add_targets(parser)
    add("--evaluate-every", type=count(1), default=10, metavar="STEPS")
    add("--evaluation-sequences", type=count(1), default=256, help="how many are evaluated, always the same ones")
    add("--layers", type=count(1), default=2)
    add("--hidden", type=count(1), default=64)
    add("--heads", type=count(1), default=2)
    add("--ffn", type=count(1), default=256)
    add("--vocabulary", type=count(FEWEST_TOKENS), default=128)
    add("--mask-token", type=count(0), default=127, help="the token that stands in masked places")
    add("--sequence", type=count(2), default=64, help="tokens of a sequence (default %(default)s)")
    add("--dropout", type=_share, default=0.0)
    add("--learning-rate", type=positive, default=5e-3)
    add("--ramp", type=count(0), default=20, help="steps in which the learning rate rises to its height")
    add("--device", choices=["auto", "cpu", "cuda", "npu"], default="auto")
    add("--data", type=Path, help="a .npy file of tokens, or a folder with such files (default: synthetic text)")
    add("--seed", type=count(0), default=1)
    add("--deterministic", action="store_true", help="the same losses again with the same seed, if slower")
    flags = Flags(**vars(parser.parse_args(arguments)))
    _check(flags)
    return flags


def _check(flags: Flags) -> None:
    if flags.hidden % flags.heads:
        raise UsageError(f"--hidden {flags.hidden} cannot be divided among --heads {flags.heads}")
    if flags.batch % flags.accumulate:
        raise UsageError(f"--batch {flags.batch} cannot be divided into --accumulate {flags.accumulate} parts")
    if flags.mask_token >= flags.vocabulary:
        raise UsageError(f"--mask-token {flags.mask_token} must be below --vocabulary {flags.vocabulary}")
    if flags.dropout >= 1:
        raise UsageError(f"--dropout {flags.dropout:g} must be below 1")

"""The flags of both training scripts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arguments import Parser, count


@dataclass(frozen=True)
class Flags:
    """`tensorboard` and `checkpoints` ask for folders of these names where the training runs."""

    batch: int
    precision: str
    steps: int
    warmup: int
    device: str
    data: Path | None
    seed: int
    tensorboard: bool
    checkpoints: bool

    @property
    def total_steps(self) -> int:
        return self.warmup + self.steps

    def facts(self) -> dict[str, object]:
        """What the log says of them."""
        return {name: getattr(self, name) for name in ("batch", "precision", "steps", "warmup", "seed")}


def parse(program: str, description: str | None, arguments: list[str]) -> Flags:
    parser = Parser(prog=program, description=description)
    add = parser.add_argument
    add("--batch", type=count(1), default=64, help="images per device and step (default %(default)s)")
    add("--precision", choices=["fp32"], default="fp32")
    add("--steps", type=count(1), default=60, help="steps after the warm-up (default %(default)s)")
    add("--warmup", type=count(0), default=5, help="steps before them (default %(default)s)")
    add("--device", choices=["auto", "cpu", "cuda"], default="auto")
    add("--data", type=Path, help="folder of MNIST's four files, plain or .gz (default: synthetic images)")
    add("--seed", type=count(0), default=1, help="where chance begins (default %(default)s)")
    add("--tensorboard", action="store_true", help="rank 0 writes losses and accuracy to the folder tensorboard")
    add("--checkpoints", action="store_true", help="rank 0 writes the model to the folder checkpoints after each epoch")
    return Flags(**vars(parser.parse_args(arguments)))

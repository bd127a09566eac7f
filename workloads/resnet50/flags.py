"""The flags that every training script of this workload takes, whatever its framework."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from arguments import Parser, Target, add_targets, count
from outcome import UsageError


@dataclass(frozen=True)
class Flags:
    network: str
    batch: int
    precision: str
    steps: int
    warmup: int
    image_size: int
    device: str
    data: Path | None
    workers: int
    evaluate_every: int
    checkpoint: Path | None
    checkpoint_every: int
    resume: bool
    seed: int
    deterministic: bool
    target_accuracy: float | None = None
    target_loss: float | None = None

    @property
    def target(self) -> Target:
        return Target(self.target_accuracy, self.target_loss)

    @property
    def has_target(self) -> bool:
        return self.target != Target(None, None)

    @property
    def total_steps(self) -> int:
        return self.warmup + self.steps

    def facts(self) -> dict[str, object]:
        """What the log says of them."""
        told = ("batch", "precision", "image_size", "seed", "warmup", "steps", "deterministic")
        return {"model": self.network, **{name: getattr(self, name) for name in told}}

    def evaluates_after(self, step: int) -> bool:
        return self.data is not None and self._due(step, self.evaluate_every)

    def checkpoints_after(self, step: int) -> bool:
        return self.checkpoint is not None and self._due(step, self.checkpoint_every)

    def _due(self, step: int, every: int) -> bool:
        return step == self.total_steps or (every > 0 and step % every == 0)


def parse(
    program: str,
    description: str | None,
    arguments: list[str],
    networks: Sequence[str] = ("resnet50",),
    to_target: bool = False,
) -> Flags:
    """`networks` are those that the program has, `to_target` is whether it can end at a target."""
    parser = Parser(prog=program, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--network", choices=networks, default=networks[0])
    add("--batch", type=count(1), default=32, help="images per device and step (default %(default)s)")
    add("--precision", choices=["fp32", "fp16", "bf16"], default="fp32")
    add("--steps", type=count(1), default=100, help="steps after the warm-up (default %(default)s)")
    add("--warmup", type=count(0), default=20, help="steps before them (default %(default)s)")
    # 33 is the smallest side that leaves the last stage more than one value per channel to normalise at batch 1.
    add("--image-size", type=count(33), default=224, help="side in pixels (default %(default)s)")
    add("--device", choices=["auto", "cpu", "cuda", "npu"], default="auto")
    add("--data", type=Path, metavar="DIR", help="images as train/<class>/* and val/<class>/* (default: synthetic)")
    add("--workers", type=count(1), default=4, help="processes per rank that decode images (default %(default)s)")
    every = "steps between {} (0, the default: one after the last step)"
    add("--evaluate-every", type=count(0), default=0, metavar="STEPS", help=every.format("evaluations over val/"))
    add("--checkpoint", type=Path, metavar="DIR", help="where checkpoints are written, shared by all ranks")
    add("--checkpoint-every", type=count(0), default=0, metavar="STEPS", help=every.format("checkpoints"))
    add("--resume", action="store_true", help="go on from the newest checkpoint, if there is one")
    add("--seed", type=count(0), default=1)
    add("--deterministic", action="store_true", help="the same losses again with the same seed, if slower")
    if to_target:
        add_targets(parser)
    flags = Flags(**vars(parser.parse_args(arguments)))
    _check(flags)
    return flags


def _check(flags: Flags) -> None:
    if flags.evaluate_every and flags.data is None:
        raise UsageError(f"--evaluate-every {flags.evaluate_every} needs --data: synthetic images are not evaluated")
    if flags.has_target and flags.data is None:
        raise UsageError("--target-accuracy and --target-loss need --data: synthetic images are not evaluated")
    if flags.checkpoint is None:
        if flags.checkpoint_every:
            raise UsageError(f"--checkpoint-every {flags.checkpoint_every} needs --checkpoint DIR")
        if flags.resume:
            raise UsageError("--resume needs --checkpoint DIR")

"""The flags that every training script of this workload takes, whatever its framework."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, NoReturn

from outcome import UsageError


@dataclass(frozen=True)
class Flags:
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

    @property
    def total_steps(self) -> int:
        return self.warmup + self.steps

    def evaluates_after(self, step: int) -> bool:
        return self.data is not None and self._due(step, self.evaluate_every)

    def checkpoints_after(self, step: int) -> bool:
        return self.checkpoint is not None and self._due(step, self.checkpoint_every)

    def _due(self, step: int, every: int) -> bool:
        return step == self.total_steps or (every > 0 and step % every == 0)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _count(minimum: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {minimum}")
        return int(text)

    return parse


def parse(program: str, description: str | None, arguments: list[str]) -> Flags:
    parser = _Parser(prog=program, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--batch", type=_count(1), default=32, help="images per device and step (default %(default)s)")
    add("--precision", choices=["fp32", "fp16", "bf16"], default="fp32")
    add("--steps", type=_count(1), default=100, help="steps after the warm-up (default %(default)s)")
    add("--warmup", type=_count(0), default=20, help="steps before them (default %(default)s)")
    # 33 is the smallest side that leaves the last stage more than one value per channel to normalise at batch 1.
    add("--image-size", type=_count(33), default=224, help="side in pixels (default %(default)s)")
    add("--device", choices=["auto", "cpu", "cuda", "npu"], default="auto")
    add("--data", type=Path, metavar="DIR", help="images as train/<class>/* and val/<class>/* (default: synthetic)")
    add("--workers", type=_count(1), default=4, help="processes per rank that decode images (default %(default)s)")
    every = "steps between {} (0, the default: one after the last step)"
    add("--evaluate-every", type=_count(0), default=0, metavar="STEPS", help=every.format("evaluations over val/"))
    add("--checkpoint", type=Path, metavar="DIR", help="where checkpoints are written, shared by all ranks")
    add("--checkpoint-every", type=_count(0), default=0, metavar="STEPS", help=every.format("checkpoints"))
    add("--resume", action="store_true", help="go on from the newest checkpoint, if there is one")
    add("--seed", type=_count(0), default=1)
    add("--deterministic", action="store_true", help="the same losses again with the same seed, if slower")
    flags = Flags(**vars(parser.parse_args(arguments)))
    _check(flags)
    return flags


def _check(flags: Flags) -> None:
    if flags.evaluate_every and flags.data is None:
        raise UsageError(f"--evaluate-every {flags.evaluate_every} needs --data: synthetic images are not evaluated")
    if flags.checkpoint is None:
        if flags.checkpoint_every:
            raise UsageError(f"--checkpoint-every {flags.checkpoint_every} needs --checkpoint DIR")
        if flags.resume:
            raise UsageError("--resume needs --checkpoint DIR")

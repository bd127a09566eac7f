"""What the flags of all training scripts share: mistakes are sentences, and numbers have a least value."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Callable, NoReturn

from outcome import UsageError


@dataclass(frozen=True)
class Target:
    """What a training ends at; at most one of them is set."""

    accuracy: float | None
    loss: float | None

    def reached_by(self, accuracy: float, loss: float) -> bool | None:
        """None where there is no target."""
        if self.accuracy is not None:
            return accuracy >= self.accuracy
        return None if self.loss is None else loss <= self.loss


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def count(minimum: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {minimum}")
        return int(text)

    return parse


def positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def add_targets(parser: argparse.ArgumentParser) -> None:
    either = parser.add_mutually_exclusive_group()
    help_of = "end after the first evaluation with {}"
    either.add_argument("--target-accuracy", type=positive, help=help_of.format("at least this accuracy, from 0 to 1"))
    either.add_argument("--target-loss", type=positive, help=help_of.format("at most this loss"))

"""What is trained on: text that is made up here, or the tokens in a file. Every rank gets sequences of its own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Iterator

import numpy as np
import torch
from flags import Flags
from outcome import TrainingError, UsageError
from ranks import Ranks

FOLLOWS = 0.9  # how often a made-up token is the one that follows from the last


class SyntheticText:
    """Every token has one that follows it, the same in all texts, nine times in ten; else it is any of them."""

    def __init__(self, flags: Flags, ranks: Ranks) -> None:
        self._flags, self._rank = flags, ranks.rank
        # All tokens in one circle, of which the next one follows.
        self._circle = np.random.default_rng(flags.seed).permutation(flags.shape.vocab)

    def __str__(self) -> str:
        return "synthetic"

    @property
    def entropy(self) -> float:
        """Nats per token: no training gets a loss below it."""
        vocab = self._flags.shape.vocab
        other = (1 - FOLLOWS) / vocab
        follows = FOLLOWS + other
        return -follows * math.log(follows) - (vocab - 1) * other * math.log(other)

    def steps(self) -> Iterator[torch.Tensor]:
        for step in range(1, self._flags.total_steps + 1):
            yield self.of_step(step)

    def of_step(self, step: int) -> torch.Tensor:
        flags = self._flags
        size = (flags.sequences, flags.shape.seq)
        chance = np.random.default_rng([flags.seed, self._rank, step])
        anew = chance.random(size) >= FOLLOWS
        anew[:, 0] = True
        begins = chance.integers(flags.shape.vocab, size=size)
        places = np.arange(flags.shape.seq)
        since = np.maximum.accumulate(np.where(anew, places, 0), axis=1)  # where the run began that a token is in
        turns = np.take_along_axis(begins, since, axis=1) + places - since
        return torch.from_numpy(self._circle[turns % flags.shape.vocab])


class TokenFile:
    """Item i of the file is tokens[i * seq : (i + 1) * seq]. Each epoch has every item at most once over all ranks."""

    entropy = None

    def __init__(self, flags: Flags, ranks: Ranks) -> None:
        assert flags.data is not None
        self.path = _npy_in(flags.data)
        self._tokens = _mapped(self.path)
        self._flags, self._ranks = flags, ranks
        self.items = len(self._tokens) // flags.shape.seq
        self._in_a_step = flags.sequences * ranks.world_size
        if self.items < self._in_a_step:
            raise UsageError(
                f"{self.path} has {self.items} sequences of --seq {flags.shape.seq}, too few for a step of"
                f" {ranks.world_size} x --batch {flags.batch} x --accumulate {flags.accumulate}"
            )

    def __str__(self) -> str:
        return f"{self.items} sequences of {self.path.name}"

    def steps(self) -> Iterator[torch.Tensor]:
        seq = self._flags.shape.seq
        for items in self.order():
            yield torch.from_numpy(np.stack([self._checked(item, seq) for item in items]))

    def order(self) -> Iterator[np.ndarray]:
        """The items of this rank, step by step."""
        steps_in_epoch = self.items // self._in_a_step
        first = self._ranks.rank * self._flags.sequences
        for step in range(self._flags.total_steps):
            epoch, place = divmod(step, steps_in_epoch)
            if place == 0:
                shuffled = np.random.default_rng([self._flags.seed, epoch]).permutation(self.items)
            begin = place * self._in_a_step + first
            yield shuffled[begin : begin + self._flags.sequences]

    def _checked(self, item: int, seq: int) -> np.ndarray:
        tokens = np.asarray(self._tokens[item * seq : (item + 1) * seq]).astype(np.int64)
        vocab = self._flags.shape.vocab
        if tokens.min() < 0 or tokens.max() >= vocab:
            beyond = int(tokens.max() if tokens.max() >= vocab else tokens.min())
            raise TrainingError(
                f"{self.path} has the token {beyond} in its sequence {item}: --vocab {vocab} ends before it"
            )
        return tokens


def open_text(flags: Flags, ranks: Ranks) -> SyntheticText | TokenFile:
    return SyntheticText(flags, ranks) if flags.data is None else TokenFile(flags, ranks)


def _npy_in(data: Path) -> Path:
    found = sorted(data.glob("*.npy")) if data.is_dir() else [data]
    if len(found) != 1:
        raise UsageError(f"--data {data} holds {len(found)} files *.npy: name one of tokens, or a folder with one")
    return found[0]


def _mapped(path: Path) -> np.ndarray:
    try:
        tokens = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"--data {path} cannot be read as a .npy of tokens: {error}") from error
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        raise UsageError(
            f"--data {path} is an array of {tokens.dtype} in {tokens.ndim} dimensions: tokens are whole numbers in one"
        )
    return tokens

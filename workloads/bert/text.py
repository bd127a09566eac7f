"""Sequences of tokens, synthetic or from files, and the places in them that are masked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from flags import Flags
from outcome import TrainingError, UsageError
from ranks import Ranks

MASKED = 0.15  # of the places of a sequence
HIDDEN, REPLACED = 0.8, 0.1  # of those: show the mask token, show another token; the rest show what they are
REPEATED = 0.9


class Batch(NamedTuple):
    """`tokens` as the network sees them; `labels` are the true ones at `places`, as many in every sequence."""

    tokens: torch.Tensor
    places: torch.Tensor
    labels: torch.Tensor


class Synthetic:
    """Nine of ten tokens repeat the one before them, the others are any token. What is masked can be told from its
    neighbours, once a network has learned to look at them; by chance it is right once in a vocabulary."""

    def __init__(self, flags: Flags) -> None:
        self._flags = flags
        self._ordinary = torch.tensor([token for token in range(flags.vocabulary) if token != flags.mask_token])

    def __str__(self) -> str:
        return "synthetic"

    def training(self, step: int, ranks: Ranks) -> torch.Tensor:
        return self._sequences(self._flags.batch, self._generator(step * ranks.world_size + ranks.rank + 1))

    def evaluation(self) -> torch.Tensor:
        return self._sequences(self._flags.evaluation_sequences, self._generator(0))

    def _generator(self, number: int) -> torch.Generator:
        return torch.Generator().manual_seed((self._flags.seed << 40) + number)

    def _sequences(self, count: int, generator: torch.Generator) -> torch.Tensor:
        shape = (count, self._flags.sequence)
        drawn = self._ordinary[torch.randint(len(self._ordinary), shape, generator=generator)]
        begins = torch.rand(shape, generator=generator) >= REPEATED
        begins[:, 0] = True
        last_begin = torch.where(begins, torch.arange(shape[1]), 0).cummax(dim=1).values
        return drawn.gather(1, last_begin)


class FromFiles:
    """All files one after the other, cut into sequences; the last ones are evaluated and never trained on."""

    def __init__(self, path: Path, flags: Flags, ranks: Ranks) -> None:
        self._flags, self._path = flags, path
        self._files = [_open(file) for file in _files(path)]
        self._counts = [len(file) // flags.sequence for file in self._files]
        self._trained = sum(self._counts) - flags.evaluation_sequences
        self._share = flags.batch * ranks.world_size
        if self._trained < self._share:
            raise UsageError(
                f"--data {path} has {sum(self._counts)} sequences of {flags.sequence} tokens: it takes at least"
                f" {self._share} for a step and {flags.evaluation_sequences} to evaluate"
            )
        self._epoch, self._order = -1, torch.empty(0)

    def __str__(self) -> str:
        return f"{self._trained} training and {self._flags.evaluation_sequences} validation sequences"

    def training(self, step: int, ranks: Ranks) -> torch.Tensor:
        """Each sequence at most once in an epoch, over all ranks."""
        epoch, place = divmod(step - 1, self._trained // self._share)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed((self._flags.seed << 40) + epoch)
            self._epoch, self._order = epoch, torch.randperm(self._trained, generator=generator)
        first = place * self._share + ranks.rank * self._flags.batch
        return self._read(self._order[first : first + self._flags.batch].tolist())

    def evaluation(self) -> torch.Tensor:
        return self._read(list(range(self._trained, sum(self._counts))))

    def _read(self, numbers: list[int]) -> torch.Tensor:
        sequences = torch.stack([self._sequence(number) for number in numbers])
        least, most = int(sequences.min()), int(sequences.max())
        if least < 0 or most >= self._flags.vocabulary:
            wrong = least if least < 0 else most
            raise TrainingError(
                f"--data {self._path} has the token {wrong}: with --vocabulary {self._flags.vocabulary} tokens are"
                f" 0 to {self._flags.vocabulary - 1}"
            )
        return sequences

    def _sequence(self, number: int) -> torch.Tensor:
        for file, count in zip(self._files, self._counts):
            if number < count:
                begin = number * self._flags.sequence
                return torch.tensor(file[begin : begin + self._flags.sequence].tolist())
            number -= count
        raise IndexError(number)


def open_text(flags: Flags, ranks: Ranks) -> Synthetic | FromFiles:
    return Synthetic(flags) if flags.data is None else FromFiles(flags.data, flags, ranks)


def masked(sequences: torch.Tensor, flags: Flags, generator: torch.Generator) -> Batch:
    count = max(1, round(MASKED * sequences.shape[1]))
    places = torch.rand(sequences.shape, generator=generator).topk(count, dim=1).indices
    labels = sequences.gather(1, places)
    chance = torch.rand(labels.shape, generator=generator)
    others = torch.randint(flags.vocabulary, labels.shape, generator=generator)
    shown = torch.where(chance < HIDDEN + REPLACED, others, labels)
    shown = torch.where(chance < HIDDEN, flags.mask_token, shown)
    return Batch(sequences.scatter(1, places, shown), places, labels)


def _files(path: Path) -> list[Path]:
    files = sorted(path.rglob("*.npy")) if path.is_dir() else [path]
    if not files or not path.exists():
        raise UsageError(f"--data {path} is no .npy file of tokens and no folder with such files")
    return files


def _open(path: Path) -> Any:  # noqa: ANN401
    """Read as it is needed: a file may be larger than the memory."""
    try:
        import numpy as np
    except ImportError as missing:
        raise UsageError(f"--data needs NumPy where the training runs: {missing}") from missing
    try:
        tokens = np.load(path, mmap_mode="r")
    except (OSError, ValueError) as error:
        raise UsageError(f"--data {path} cannot be read as .npy: {error}") from error
    if tokens.dtype.kind not in "iu":
        raise UsageError(f"--data {path} holds {tokens.dtype}: tokens are whole numbers")
    return tokens.reshape(-1)

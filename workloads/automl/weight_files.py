"""The best weights of each trial, which its children begin with: kept for as long as it may have any."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Dict

import torch
from experiment_files import trial_name
from room import replace_file

Weights = Dict[str, torch.Tensor]


def weights_file(experiment: Path, seq: int) -> Path:
    return experiment / "checkpoint" / trial_name(seq) / "weights.pt"


def save_weights(experiment: Path, seq: int, network: torch.nn.Module) -> None:
    path = weights_file(experiment, seq)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Copies, for in the network all weights are parts of one long vector, which would go along with each.
    weights = {
        name: value.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)
        for name, value in network.state_dict().items()
    }
    replace_file(path, lambda fresh: torch.save(weights, fresh))


def load_weights(experiment: Path, seq: int) -> Weights | None:
    """None if its worker has removed them, which may happen while they are read."""
    try:
        return torch.load(weights_file(experiment, seq), map_location="cpu", weights_only=True)  # type: ignore[no-any-return]
    except (OSError, EOFError, RuntimeError):
        if weights_file(experiment, seq).exists():
            raise
        return None


def remove_weights(experiment: Path, seq: int) -> None:
    path = weights_file(experiment, seq)
    with suppress(OSError):
        path.unlink()
    with suppress(OSError):
        path.parent.rmdir()


class Handed:
    """Weights that one forked process leaves for another, in memory that is freed with the last of them."""

    def __init__(self) -> None:
        self._file = os.memfd_create("weights")

    def give(self, weights: Weights) -> None:
        with open(self._own(), "wb") as file:  # noqa: PTH123
            torch.save(weights, file)

    def take(self) -> Weights:
        with open(self._own(), "rb") as file:  # noqa: PTH123
            return torch.load(file, map_location="cpu", weights_only=True)  # type: ignore[no-any-return]

    def close(self) -> None:
        os.close(self._file)

    def _own(self) -> str:
        """Opened anew, so that each process has a place of its own in it."""
        return f"/proc/self/fd/{self._file}"

"""What a search was asked for: the settings of its preset, by AIPerf's names, checked."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from typing import Any, Callable, Mapping, Sequence

from outcome import UsageError

LONGEST_PATIENCE = 20
MOST_TRAININGS = 30  # of a trial, whose results have to fit into one record of the history
AIPERFS_OPERATIONS = ("deeper", "wider", "skip_add")
_PATIENCE = re.compile(r"(\d{1,4})(?:\+(\d{1,4})r)?")


@dataclass(frozen=True)
class Space:
    """What hyperparameters are drawn from; `batch_size` is per device."""

    dropout_rate: tuple[float, float]
    kernel_size: tuple[int, ...]
    batch_size: tuple[int, int]


@dataclass(frozen=True)
class Parameters:
    """`train_images` and `eval_images` of an epoch: 0 is all there are. `workers` decode images, per device."""

    profile: str = "aiperf"
    maxTrialNum: int = 30000  # noqa: N815, AIPerf's names
    warmup_1: int = 15
    warmup_2: int = 30
    warmup_3: int = 45
    epochs: int = 60
    initial_lr: float = 0.1
    final_lr: float = 0.0
    patience: str = "6+2r"
    maxTPEsearchNum: int = 2  # noqa: N815
    smooth_factor: float = 0.1
    dropout_rate: Sequence[float] = (0.0, 0.2)
    kernel_size: Sequence[int] = (3, 5, 7)
    batch_size: Sequence[float] = (12, 14)
    batch_size_absolute: bool = False
    inherit: bool = True
    start_weights: str = "none"
    start_graph: str = "resnet50"
    operations: Any = "all"
    max_growth: float = 4.0
    seed: int = 1
    train_images: int = 0
    eval_images: int = 0
    image_size: int = 224
    workers: int = 8

    def __post_init__(self) -> None:
        for name, (right, what) in _CHECKS.items():
            value = getattr(self, name)
            if not right(value):
                raise UsageError(f"the setting {name} is {value!r}: give {what}")

    def epochs_in(self, round_number: int) -> int:
        return (self.warmup_1, self.warmup_2, self.warmup_3, self.epochs)[min(round_number, 3)]

    def patience_in(self, round_number: int) -> int:
        """Epochs without a better loss before a training ends."""
        parts = _PATIENCE.fullmatch(str(self.patience))
        assert parts is not None  # it was checked
        return min(int(parts[1]) + int(parts[2] or 0) * round_number, LONGEST_PATIENCE)

    def trainings_in(self, round_number: int) -> int:
        """At most, with other settings each."""
        return self.maxTPEsearchNum if round_number >= 3 else 1

    def learning_rate(self, epoch: int, epochs: int) -> float:
        """Of an epoch counted from 0."""
        return self.initial_lr + (self.final_lr - self.initial_lr) * epoch / epochs

    def space(self, gigabytes: float | None) -> Space:
        """`gigabytes` of a device's memory, which a relative batch needs."""
        low, high = self.batch_size
        factor = 1.0 if self.batch_size_absolute or gigabytes is None else gigabytes
        batches = max(1, round(low * factor)), max(1, round(high * factor))
        return Space((self.dropout_rate[0], self.dropout_rate[1]), tuple(sorted(self.kernel_size)), batches)

    def chosen_operations(self, every: Sequence[str]) -> tuple[str, ...]:
        """`every` are those that there are."""
        if self.operations == "all":
            return tuple(every)
        if self.operations == "aiperf":
            return AIPERFS_OPERATIONS
        chosen = self.operations.split(",") if isinstance(self.operations, str) else self.operations
        unknown = [name for name in chosen if name not in every]
        if unknown or not chosen:
            known = ", ".join(every)
            raise UsageError(f"the setting operations has {unknown}: give all, aiperf, or some of {known}")
        return tuple(chosen)


def parameters_of(settings: Mapping[str, Any]) -> Parameters:
    known = {each.name for each in fields(Parameters)}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise UsageError(f"the settings have {', '.join(unknown)}, unknown here: known are {', '.join(sorted(known))}")
    return Parameters(**settings)


def _whole(least: int) -> tuple[Callable[[Any], bool], str]:
    return lambda value: type(value) is int and value >= least, f"a whole number of at least {least}"


def _is_number(value: object, least: float, most: float = math.inf) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most


def _are_numbers(value: object, count: int, least: float, most: float = math.inf) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == count and all(_is_number(n, least, most) for n in value)


def _is_range(value: object, least: float, most: float = math.inf) -> bool:
    return _are_numbers(value, 2, least, most) and value[0] <= value[1]  # type: ignore[index]


def _are_kernels(value: object) -> bool:
    return (
        isinstance(value, (list, tuple))
        and len(value) > 0
        and all(type(size) is int and 3 <= size <= 15 and size % 2 for size in value)
    )


_IS_BOOL = (lambda value: isinstance(value, bool), "true or false")
_IS_TEXT = (lambda value: isinstance(value, str) and value != "", "a text")
_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "profile": _IS_TEXT,
    "start_weights": _IS_TEXT,
    "start_graph": _IS_TEXT,
    "batch_size_absolute": _IS_BOOL,
    "inherit": _IS_BOOL,
    "operations": (lambda value: isinstance(value, (str, list, tuple)) and len(value) > 0, "all, aiperf, or a list"),
    "patience": (lambda value: bool(_PATIENCE.fullmatch(str(value))), "a number of epochs as in 10, or as in 6+2r"),
    "smooth_factor": (lambda value: _is_number(value, 0, 1), "a number from 0 to 1"),
    "initial_lr": (lambda value: _is_number(value, 0), "a number of at least 0"),
    "final_lr": (lambda value: _is_number(value, 0), "a number of at least 0"),
    "max_growth": (lambda value: _is_number(value, 1), "a number of at least 1"),
    "dropout_rate": (lambda value: _is_range(value, 0, 0.99), "[least, most], from 0 to 0.99"),
    "batch_size": (lambda value: _is_range(value, 0.01), "[least, most], above 0"),
    "kernel_size": (_are_kernels, "a list of odd numbers from 3 to 15"),
    "maxTPEsearchNum": (
        lambda value: type(value) is int and 1 <= value <= MOST_TRAININGS,
        f"a whole number from 1 to {MOST_TRAININGS}",
    ),
    **dict.fromkeys(("maxTrialNum", "warmup_1", "warmup_2", "warmup_3", "epochs"), _whole(1)),
    **dict.fromkeys(("seed", "train_images", "eval_images", "workers"), _whole(0)),
    "image_size": _whole(8),
}

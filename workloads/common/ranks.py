"""Which rank this process is, from its environment: without RANK and WORLD_SIZE it is the only one."""

from __future__ import annotations

import os
from dataclasses import dataclass

from outcome import UsageError


@dataclass(frozen=True)
class Ranks:
    rank: int
    local_rank: int
    world_size: int

    @property
    def alone(self) -> bool:
        return self.world_size == 1


def from_environment() -> Ranks:
    ranks = Ranks(rank=_number("RANK", 0), local_rank=_number("LOCAL_RANK", 0), world_size=_number("WORLD_SIZE", 1))
    if ranks.rank >= ranks.world_size:
        raise UsageError(f"RANK={ranks.rank} must be below WORLD_SIZE={ranks.world_size}")
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if not os.environ.get(name)]
    if missing and not ranks.alone:
        raise UsageError(f"WORLD_SIZE={ranks.world_size} needs {' and '.join(missing)} in the environment")
    return ranks


def device_index(ranks: Ranks, visible: int, kind: str) -> int:
    """Which of the visible devices is this rank's. A scheduler that binds devices leaves each rank a single one."""
    if ranks.local_rank < visible:
        return ranks.local_rank
    if visible == 1:
        return 0
    seen = f"{visible or 'none'} of them"
    raise UsageError(f"LOCAL_RANK={ranks.local_rank} has no {kind} device of its own: this process sees {seen}")


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, str(default))
    if not (text.isascii() and text.isdecimal()):
        raise UsageError(f"{name}={text!r} in the environment is not a whole number")
    return int(text)

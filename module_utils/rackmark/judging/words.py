"""Pieces of the sentences on a repeat: how far it got, how a rank ended, what its log says."""

from __future__ import annotations

import signal

from .asked import Asked
from .evidence import decisive_line
from .repeat import Rank, Repeat

_LITTLE_SPACE_MB = 50


def progress(repeat: Repeat, asked: Asked) -> str:
    if asked.result == "ais-bench":
        return "What it had trained is not known."
    if asked.measure == "search":
        trials = sum(len(rank.log.trials) for rank in repeat.ranks)
        return f"{trials} trials had been logged."
    done = min((steps_of(rank) for rank in repeat.ranks), default=0)
    of_all = "" if asked.all_steps is None else f" of {asked.all_steps}"
    return f"The slowest rank had logged {done}{of_all} steps."


def steps_of(rank: Rank) -> int:
    return int(max((digest.logged_steps for digest in rank.digests), default=0))


def ending(rank: Rank) -> str:
    if rank.exit_status is None:
        return "left no exit status"
    words = f"ended with exit status {rank.exit_status}"
    by = int(rank.exit_status) - 128 if rank.exit_status.isdecimal() else 0
    return f"{words} ({signal.Signals(by).name})" if by in signal.Signals.__members__.values() else words


def full_disk(repeat: Repeat) -> str:
    free = (repeat.end or {}).get("free_mb")
    if not isinstance(free, int) or free >= _LITTLE_SPACE_MB:
        return ""
    return f" Only {free} MB were free where the logs are written."


def quote(repeat: Repeat) -> str:
    return quoted(decisive_line(repeat.texts))


def quoted(line: str | None) -> str:
    return "" if line is None else f" The log says: {line}"

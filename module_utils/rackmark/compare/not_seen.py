"""What a comparison of runs cannot see: a shift of all repeats of a run is not in the spread of these repeats."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Mapping, Sequence

from ..run.times import duration_in_words


def not_seen(started: Sequence[object], hosts: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """How far apart the runs were is said where it is known of all."""
    known = ", ".join([*_apart(started), *_elsewhere(hosts)])
    return (
        f"These are separate runs{f' ({known})' if known else ''}: their intervals cover the spread within each run,"
        " and a shift between runs (heat, load, other nodes) counts as a difference."
    )


def _apart(started: Sequence[object]) -> list[str]:
    try:
        moments = [datetime.fromisoformat(str(text).replace("Z", "+00:00")) for text in started]
        seconds = (max(moments) - min(moments)).total_seconds()
    except (TypeError, ValueError):  # no date, or one without a time zone among others
        return []
    return [f"{duration_in_words(seconds)} apart"] if seconds else []


def _elsewhere(hosts: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    names = {frozenset(str(host["name"]) for host in of_run) for of_run in hosts}
    return ["on different nodes"] if len(names) > 1 and all(names) else []

"""Logs of FlagPerf that ended before they said how they were made: the other logs of their case say it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import PurePath
from typing import Any, Mapping, Sequence

from ..logs.digest import Digest

_OF_CASE = ("batch", "precision", "target")  # FlagPerf has one file of settings for a case


def repeat_folder(log: PurePath) -> PurePath:
    """FlagPerf has a folder per node in that of the repeat."""
    return log.parents[1] if _is_in_folder_of_node(log) else log.parent


def with_facts_of_case(digests: Sequence[Digest]) -> list[Digest]:
    """Without them a repeat that failed would be in a series of its own, and out of sight of those it belongs to."""
    logs: dict[PurePath, list[Digest]] = defaultdict(list)
    for one in digests:
        if _is_in_folder_of_node(one.path):
            logs[repeat_folder(one.path).parent].append(one)
    said = {folder: _agreed(found) for folder, found in logs.items()}
    return [
        replace(one, facts={**said[repeat_folder(one.path).parent], **one.facts})
        if _is_in_folder_of_node(one.path)
        else one
        for one in digests
    ]


def _agreed(logs: Sequence[Digest]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for name in _OF_CASE:
        values = {one.facts[name] for one in logs if name in one.facts}
        if len(values) == 1:
            found[name] = values.pop()
    return found


def _is_in_folder_of_node(log: PurePath) -> bool:
    return "_noderank" in log.parent.name

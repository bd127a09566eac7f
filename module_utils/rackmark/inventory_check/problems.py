"""Problems of an inventory as sentences: what, where, and what to do about it."""

from __future__ import annotations

from collections import defaultdict
from typing import Iterable

from .. import credentials, hostlist

COMMAND_LINE = "-e"
LONGEST_TEXT = 60


def shown(value: object) -> str:
    """A value in a sentence, short and without a URL's credentials; of what is large only its kind."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = credentials.hidden(" ".join(str(value).split()))
    return f"'{text}'" if len(text) <= LONGEST_TEXT else f"'{text[:LONGEST_TEXT]}...'"


class Problems:
    """The same problem of many hosts is one line."""

    def __init__(self, all_hosts: Iterable[str]) -> None:
        self._all = set(all_hosts)
        self._where: dict[tuple[str, str], set[str]] = defaultdict(set)

    def add(self, what: str, fix: str, *places: str) -> None:
        """Places are names of hosts, or COMMAND_LINE; a problem of the inventory as a whole has none."""
        self._where[what, fix].update(places)

    def lines(self) -> list[str]:
        return sorted(f"{what}{self._at(places)}: {fix}" for (what, fix), places in self._where.items())

    def _at(self, places: set[str]) -> str:
        if not places:
            return ""
        if COMMAND_LINE in places:
            return f" ({COMMAND_LINE})"
        if places == self._all and len(places) > 1:
            return " (all hosts)"
        return f" ({hostlist.compact(places)})"

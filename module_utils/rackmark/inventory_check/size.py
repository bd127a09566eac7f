"""How large a variable is, counted before anything walks through it.

YAML's aliases make a list of lists of lists out of a few lines, which takes hours to read as a whole.
"""

from __future__ import annotations

MOST_PARTS = 200_000


class Sizes:
    """Parts that lie several times in a value, or in several values, are looked at once and counted each time."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def is_too_large(self, value: object) -> bool:
        return self._count(value) > MOST_PARTS

    def _count(self, value: object) -> int:
        if not isinstance(value, (dict, list, tuple)):
            return 1
        if id(value) not in self._known:
            self._known[id(value)] = MOST_PARTS + 1  # what contains itself has no end
            parts = value.values() if isinstance(value, dict) else value
            self._known[id(value)] = 1 + sum(map(self._count, parts))
        return self._known[id(value)]

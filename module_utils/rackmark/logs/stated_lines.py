"""The fold of benchmarks that print a result and no steps.

Kinds named `stated...` are the numbers of a result, `fact...` what is known of it. A number named `throughput` comes
once in a log: where there are more, nothing says which one counts, unless a dialect does. Fields named `_...` are only
there to be passed over.
"""

from __future__ import annotations

from typing import Any, Mapping

from .matching import Found, in_order
from .reading import FACTS, Fault, Fold, Reading
from .series import Window


class StatedLines(Fold):
    def __init__(self, window: Window, headline: str = "throughput") -> None:
        super().__init__(window)
        self._headline = headline
        self._results = 0

    def take(self, found: Found, rank: int | None) -> None:
        for name, row in in_order(found):
            self.take_line(name, row)

    def take_line(self, name: str, row: Mapping[str, Any]) -> None:
        if name.startswith("fact"):
            self.note({fact: _plain(value) for fact, value in row.items() if fact in FACTS})
        elif name.startswith("stated"):
            self._results += self._headline in row
            numbers = {word: float(value) for word, value in row.items() if not word.startswith("_")}
            self.reading.stated.update({word: value for word, value in numbers.items() if value - value == 0})

    def finish(self) -> Reading:
        if self._results > 1:
            reason = (
                f"The log holds {self._results} results, and nothing says which one counts: a log of each is needed."
            )
            self.reading.faults.append(Fault("incomplete", reason))
        elif not self._results:
            self.reading.faults.append(Fault("incomplete", "The log ends before its result."))
        return self.reading


def _plain(value: bytes | float) -> str | int:
    return value.decode(errors="replace") if isinstance(value, bytes) else int(value)

"""ECC errors of Ascend devices that could not be corrected, since the machine was started.

`npu-smi info watch` does not tell them, so that a script asks for those of each card once a minute. What it prints of a
card with one chip is, with the last line only in some versions:

    card 3
    DDR Double Bit Error Count               : 0
    HBM Double Bit Error Count               : 2
    Chip ID                                  : 0
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Mapping, Sequence

from rackmark.node.ascend_readings import by_number
from rackmark.node.watched_tool import WatchedTool

SECONDS = 60
_SILENCE = 2.0 * SECONDS  # from a card to the next, the pause in between among it
_OLDEST = 5.0 * SECONDS
_SCRIPT = Path(__file__).with_name("npu_errors.sh")
_COUNT = re.compile(r"double.bit error (?:count|cnt) *: *(\d{1,18})$", re.IGNORECASE)
_CHIP = re.compile(r"chip id *: *(\d{1,4})$", re.IGNORECASE)
_CARD = re.compile(r"card (\d{1,4})$")


class AscendErrors:
    def __init__(self) -> None:
        self._tool = WatchedTool(["sh", str(_SCRIPT), str(SECONDS)], _SILENCE, name="npu-smi info -t ecc")
        self._counts: dict[tuple[int, int], tuple[float, int]] = {}  # when it was said, and the errors of a chip
        self._card: int | None = None
        self._chip = 0
        self._errors: int | None = None  # of what the memories of a chip count, as far as they were printed
        self._asked_all = False

    def read(self, now: float) -> Mapping[int, int]:
        """By the numbers of the device files."""
        for line in self._tool.lines(now):
            self._take(line, now)
        self._counts = {place: count for place, count in self._counts.items() if now - count[0] < _OLDEST}
        return {number: errors for number, (_, errors) in by_number(self._counts).items()}

    def missing(self, numbers: Sequence[int]) -> Mapping[str, str]:
        """Why there is no count of some of these devices."""
        known = by_number(self._counts)
        if self._tool.reason and not known:
            return {"devices: errors": self._tool.reason}
        if not self._asked_all:
            return {"devices: errors": "npu-smi info -t ecc has not been asked about all devices yet."}
        without = [number for number in numbers if number not in known]
        return {f"device {number}: errors": "npu-smi info -t ecc prints no count." for number in without}

    def close(self) -> None:
        self._tool.close()

    def _take(self, line: str, now: float) -> None:
        count, chip, card = _COUNT.search(line), _CHIP.search(line), _CARD.match(line)
        if count:
            self._errors = (self._errors or 0) + int(count[1])
        elif chip:
            self._chip = int(chip[1])
            self._end_chip(now)
        else:  # another card, or none
            self._end_chip(now)
            self._card, self._chip = int(card[1]) if card else None, 0
            self._asked_all = self._asked_all or line == "all cards"

    def _end_chip(self, now: float) -> None:
        if self._card is not None and self._errors is not None:
            self._counts[self._card, self._chip] = now, self._errors
        self._errors = None

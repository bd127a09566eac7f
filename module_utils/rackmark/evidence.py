"""Finds the line of a log that tells a person why a job failed."""

from __future__ import annotations

import re
from typing import Iterable

_LONGEST_QUOTE = 240

_TELLING = re.compile(
    r"error|exception|fail|fatal|abort|killed|cannot|can't|denied|refused|not found|no such|invalid"
    r"|could not|unable to|unsupported|segmentation|out of memory|time limit",
    re.IGNORECASE,
)
# What the other ranks say once one rank is gone.
_AFTERMATH = re.compile(
    r"connection (reset|closed|refused|aborted)|broken pipe|socket timeout|sigterm|terminated|exited with exit code"
    r"|CANCELLED AT|task \d+|waiting up to|ncclRemoteError|remote process",
    re.IGNORECASE,
)
_OUT_OF_MEMORY = re.compile(
    r"out of memory|OutOfMemoryError|oom[-_ ]?kill|can't allocate memory|cannot allocate memory|bad_alloc|MemoryError",
    re.IGNORECASE,
)
_MEASUREMENT = re.compile(r"^\s*RACKMARK ")


def decisive_line(texts: Iterable[str]) -> str | None:
    """The last line that names an error, preferring a cause over what the loss of another rank led to.

    Falls back on the last line there is: a program often says why it stops just before it stops.
    """
    lines = [line for text in texts for line in _prose(text)]
    telling = [line for line in lines if _TELLING.search(line)]
    causes = [line for line in telling if not _AFTERMATH.search(line)]
    for group in (causes, telling, lines):
        if group:
            return group[-1]
    return None


def memory_line(texts: Iterable[str]) -> str | None:
    """The first line that says that memory ran out."""
    for text in texts:
        for line in _prose(text):
            if _OUT_OF_MEMORY.search(line):
                return line
    return None


def _prose(text: str) -> list[str]:
    lines = (line.strip()[:_LONGEST_QUOTE] for line in text.splitlines() if not _MEASUREMENT.match(line))
    return [line for line in lines if line]

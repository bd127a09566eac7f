"""Finds the line of a log that tells a person why a job failed."""

from __future__ import annotations

import re
from typing import Iterable, Sequence

from ..node.states import BY_NAME, FAILED

_LONGEST_QUOTE = 240

_TELLING = re.compile(
    r"error|exception|fail|fatal|abort|killed|cannot|can't|denied|refused|not found|no such|invalid"
    r"|could not|unable to|unsupported|segmentation|out of memory|time limit|no space left|quota exceeded"
    r"|was (ended|stopped) by SIG",
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
# Numbers, the engine's own summary of what is read here, its word on ranks that were told to end, and Slurm's.
_NO_PROSE = re.compile(
    rf"RACKMARK |rackmark: (({'|'.join((*BY_NAME, FAILED))}): |The process of .* was ended by SIGTERM\.)"
    r"|\*\*\* (STEP|JOB) \S+ ON \S+ CANCELLED AT \S+ \*\*\*"
)
_TRACEBACK = "Traceback (most recent call last):"


def decisive_line(texts: Sequence[str]) -> str | None:
    """The line that names the cause; the most telling text comes last.

    What the loss of another rank led to counts less, and where no line names an error, the last one there is counts: a
    program often says why it stops just before it stops.
    """
    cause = cause_line(texts)
    if cause is not None:
        return cause
    lines = [line for text in texts for line in _prose(text)]
    telling = [line for line in lines if _TELLING.search(line)]
    return next(iter([*telling[-1:], *lines[-1:]]), None)


def cause_line(texts: Sequence[str]) -> str | None:
    """The line that names an error and is not about the loss of another rank, from the last text that has one."""
    for text in reversed(texts):
        lines = _prose(text)
        for candidates in (_exceptions(text), [line for line in lines if _TELLING.search(line)]):
            causes = [line for line in candidates if not _AFTERMATH.search(line)]
            if causes:
                return causes[-1]
    return None


def speaks_of_others_alone(text: str) -> bool:
    """Whether it tells of the loss of another rank, and of nothing that went wrong before."""
    return cause_line([text]) is None and any(map(_AFTERMATH.search, _prose(text)))


def memory_line(texts: Iterable[str]) -> str | None:
    """The first line that says that memory ran out."""
    for text in texts:
        for line in _prose(text):
            if _OUT_OF_MEMORY.search(line):
                return line
    return None


def _exceptions(text: str) -> list[str]:
    """Where Python says what a traceback led to: the first line after it that is not indented."""
    found = []
    inside = False
    for line in text.splitlines():
        if line.startswith(_TRACEBACK):
            inside = True
        elif inside and line.strip() and not line[0].isspace():
            inside = False
            found.append(line.strip()[:_LONGEST_QUOTE])
    return found


def _prose(text: str) -> list[str]:
    lines = (line.strip()[:_LONGEST_QUOTE] for line in text.splitlines() if not _NO_PROSE.search(line))
    return [line for line in lines if line]

"""How far searches are that run: Rackmark's jobs say it in their comment."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from .cache import Answer
from .command import ask

COMMAND = ("squeue", "--noheader", "--all", "--states=RUNNING", "--format=%i|%j|%k")
_LINE = re.compile(
    r"\d+\|rackmark:(?P<run>[A-Za-z0-9_.-]{1,120}):(?P<case>\d{1,6}n\d{1,4}g):(?P<repeat>\d{1,4})\|"
    r"rackmark(?P<numbers>(?: [a-z_]{1,32}=[0-9.eE+-]{1,24}){1,16})"
)


class Progress(NamedTuple):
    """`numbers` by run, case, repeat and what each is of."""

    numbers: dict[tuple[str, str, str, str], float]


def ask_searches(limit: float) -> Answer:
    return Answer(parse_searches(ask(COMMAND, limit)))


def parse_searches(output: bytes) -> Progress:
    """A comment is its user's: one of another form says nothing."""
    found = {}
    for line in output.decode(errors="replace").splitlines():
        match = _LINE.fullmatch(line.strip())
        for name, value in (pair.split("=") for pair in match["numbers"].split()) if match else ():
            number = _number(value)
            if match and number is not None:
                found[match["run"], match["case"], match["repeat"], name] = number
    return Progress(found)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None

"""Whether what an operation is told with -e can be meant."""

from __future__ import annotations

import re
from typing import Iterator

from .problems import shown
from .values import Fault

_ALLOWED = {
    "batch_size": (
        r"[1-9]\d{0,5}|([1-9]\d?|100)%",
        "use a whole number of nodes, at least 1, or a share of them from 1% to 100%.",
    ),
    "wait": (r"\d{1,9}", "use a number of seconds, 0 or more."),
}


def faults(name: str, value: object) -> Iterator[Fault]:
    if name in _ALLOWED and value is not None:
        pattern, fix = _ALLOWED[name]
        if not re.fullmatch(pattern, str(value).strip()):
            yield Fault(f"{name} is {shown(value)}", fix)

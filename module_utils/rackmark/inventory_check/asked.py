"""What can be asked of a run, by the rules that its plan has."""

from __future__ import annotations

import re
from typing import Any, Callable

from .. import hostlist
from ..run import rules, times
from ..run.cases import CaseRequest

_NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9][\w.-]*", re.ASCII)


def _is_fine(read: Callable[[str], Any], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def is_hours(text: str) -> bool:
    return text.isascii() and _is_fine(times.seconds_of_hours, text)


def is_target(text: str) -> bool:
    return _is_fine(rules.target, text)


def is_cases(text: str) -> bool:
    """A string of FlagPerf may go on after its six fields."""
    return all(_is_fine(CaseRequest.parse, ":".join(part.strip().split(":")[:6])) for part in text.split(","))


def is_tolerance(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,6})? ?%", text) is not None


def is_count(text: str) -> bool:
    return re.fullmatch(r"[1-9][0-9]{0,5}", text) is not None


def is_nodes(text: str) -> bool:
    """A number, or names that could be those of hosts and groups."""
    try:
        names = hostlist.expand(text)
    except ValueError:
        return False
    return is_count(text) or (bool(names) and all(map(_NAME.fullmatch, names)))

"""Mappings of a parameter to its value, as files of many services have them."""

from __future__ import annotations

import re
from typing import Any, Iterator, Mapping, NamedTuple

from .kinds import is_one_line


class Entry(NamedTuple):
    """A part of a mapping that is wrong."""

    key: str
    """What leads to it, as in section.name."""
    value: object
    fix: str


_KEY = "name parameters with letters, digits, - _ and . alone."
_ONE_LINE = "write it in one line."


def settings(given: Mapping[str, Any]) -> Iterator[Entry]:
    """Lines of a file as `key = value`; null leaves a key out, a list is joined with commas."""
    for key, value in given.items():
        if not re.fullmatch(r"[\w.-]+", str(key), re.ASCII):
            yield Entry(str(key), value, _KEY)
        elif any(isinstance(part, (dict, list)) for part in _parts(value)):
            yield Entry(str(key), value, "use text, a number, or a list of them.")
        elif not all(is_one_line(str(part)) for part in _parts(value)):
            yield Entry(str(key), value, _ONE_LINE)


def _parts(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def plain_settings(given: Mapping[str, Any]) -> Iterator[Entry]:
    """The same where nothing joins a list."""
    yield from settings(given)
    for key, value in given.items():
        if isinstance(value, list):
            yield Entry(str(key), value, "use text or a number.")


def words(given: Mapping[str, Any]) -> Iterator[Entry]:
    """Parts of one line, as `key=value`."""
    yield from plain_settings(given)
    for key, value in given.items():
        if isinstance(value, str) and is_one_line(value) and re.search(r"\s", value):
            yield Entry(str(key), value, "write it without spaces.")
        elif value == "":
            yield Entry(str(key), value, "give it a value, or null to leave it out.")

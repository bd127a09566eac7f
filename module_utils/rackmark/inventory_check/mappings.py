"""Kinds of mappings whose keys are the operator's own, such as the parameters of slurm.conf."""

from __future__ import annotations

import re
from typing import Any, Callable, Iterator, Mapping, NamedTuple

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
        elif isinstance(value, dict):
            yield Entry(str(key), value, "use text, a number, or a list of them.")
        elif not all(is_one_line(str(part)) for part in (value if isinstance(value, list) else [value])):
            yield Entry(str(key), value, _ONE_LINE)


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


def sections(given: Mapping[str, Any]) -> Iterator[Entry]:
    """Settings by section, as in grafana.ini."""
    for name, part in given.items():
        if not is_one_line(str(name)) or "]" in str(name):
            yield Entry(str(name), part, "name sections with letters, digits, - _ and . alone.")
        elif not isinstance(part, dict):
            yield Entry(str(name), part, "use a mapping of the section's settings.")
        else:
            yield from (Entry(f"{name}.{key}", value, fix) for key, value, fix in plain_settings(part))


def labels(given: Mapping[str, Any]) -> Iterator[Entry]:
    for key, value in given.items():
        if not re.fullmatch(r"(?!__)[A-Za-z_]\w*", str(key), re.ASCII):
            yield Entry(str(key), value, "name labels with letters, digits and _ alone.")
        elif isinstance(value, (dict, list)) or value is None:
            yield Entry(str(key), value, "use text.")


def accounts(given: Mapping[str, Any]) -> Iterator[Entry]:
    """Users by account, for sacctmgr."""
    for key, value in given.items():
        if not isinstance(value, list):
            yield Entry(str(key), value, "use the list of the account's users, as in [rackmark].")
        elif not all(re.fullmatch(r"[\w.@-]+", str(name), re.ASCII) for name in (key, *value)):
            yield Entry(str(key), value, "name accounts and users with letters, digits, - _ . and @ alone.")


def fingerprints(given: Mapping[str, Any]) -> Iterator[Entry]:
    for key, value in given.items():
        if not re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", str(value)):
            yield Entry(str(key), value, "use what ssh-keygen -l prints: SHA256: and 43 characters.")


MAPPINGS: dict[str, Callable[[Mapping[str, Any]], Iterator[Entry]]] = {
    "settings": settings,
    "plain_settings": plain_settings,
    "words": words,
    "sections": sections,
    "labels": labels,
    "accounts": accounts,
    "fingerprints": fingerprints,
}

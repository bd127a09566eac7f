"""Parameters of Slurm and slurmdbd, and options of partitions and nodes: their names, and the form of their values."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, Callable, Iterator, Mapping

from . import slurm_names
from .kinds import Kind
from .settings import Entry, plain_settings, settings, words

_TIME = Kind(
    "a time as Slurm writes it: minutes, hours:minutes:seconds, days-hours, or INFINITE",
    lambda text: re.fullmatch(r"(?ai)\d+(:\d+){0,2}|\d+-\d+(:\d+){0,2}|infinite|unlimited|-1", text) is not None,
)
_KINDS = {
    "text": Kind("text", lambda text: True),
    "number": Kind(
        "a whole number without a unit, or INFINITE",
        lambda text: re.fullmatch(r"(?ai)\d+k?|0x[0-9a-f]+|infinite|unlimited", text) is not None,
    ),
    "switch": Kind("YES or NO", lambda text: text.lower() in ("yes", "no", "true", "false", "up", "down", "1", "0")),
}
_OF_PARTITIONS = {
    "MaxTime": _TIME,
    "DefaultTime": _TIME,
    "State": Kind("UP, DOWN, DRAIN or INACTIVE", lambda text: text.upper() in ("UP", "DOWN", "DRAIN", "INACTIVE")),
    "OverSubscribe": Kind(
        "NO, EXCLUSIVE, YES or FORCE, the last two also with a number as in FORCE:4",
        lambda text: re.fullmatch(r"(?ai)no|exclusive|(yes|force)(:\d+)?", text) is not None,
    ),
}
_PURGED = Kind(
    "a number of hours, days or months, as in 12months",
    lambda text: re.fullmatch(r"(?ai)\d+ *(hours?|days?|months?)?", text) is not None,
)
_OF_DATABASE = {name: _PURGED for name in slurm_names.DATABASE if name.startswith("Purge") and name.endswith("After")}
# What a host or a partition is called and has stands in other variables.
_ELSEWHERE = {
    "NodeName": "put the host into slurm_compute, and options of its own into slurm_node_options.",
    "PartitionName": "name the partition in slurm_partitions.",
    "SlurmctldHost": "put the host into the group slurm_controller.",
    "Nodes": "use the key nodes of the partition.",
    "Default": "use the key default of the partition.",
}


def configuration(given: Mapping[str, Any]) -> Iterator[Entry]:
    return _checked(given, settings, slurm_names.CONFIGURATION)


def database(given: Mapping[str, Any]) -> Iterator[Entry]:
    return _checked(given, plain_settings, slurm_names.DATABASE, _OF_DATABASE)


def node(given: Mapping[str, Any]) -> Iterator[Entry]:
    return _checked(given, words, slurm_names.NODE)


def partition(given: Mapping[str, Any]) -> Iterator[Entry]:
    return _checked(given, words, slurm_names.PARTITION, _OF_PARTITIONS)


def _checked(
    given: Mapping[str, Any],
    form: Callable[[Mapping[str, Any]], Iterator[Entry]],
    names: Mapping[str, str],
    own: Mapping[str, Kind] = {},
) -> Iterator[Entry]:
    """`own` are the kinds of single names; Slurm does not tell capitals and small letters apart."""
    faulty = list(form(given))
    yield from faulty
    known = {name.lower(): name for name in names}
    for key, value in given.items():
        name = known.get(str(key).lower())
        if str(key) in [entry.key for entry in faulty]:
            continue
        if name is None:
            yield Entry(str(key), value, _instead(str(key), names))
        elif value is not None and value != "":
            yield from _value(name, value, own.get(name) or _KINDS[names[name]], names[name])


def _instead(key: str, names: Mapping[str, str]) -> str:
    if key in _ELSEWHERE:
        return _ELSEWHERE[key]
    close = get_close_matches(key, names, 1)
    return f"did you mean {close[0]}?" if close else "Slurm has no parameter of that name here."


def _value(name: str, value: object, kind: Kind, type_of_slurm: str) -> Iterator[Entry]:
    text = str(value)
    if isinstance(value, bool) and type_of_slurm != "switch":
        yield Entry(name, value, "put it in quotes: YAML takes bare yes, no, on and off for true and false.")
    elif isinstance(value, list) and type_of_slurm != "text":
        yield Entry(name, value, f"use {kind.words}.")
    elif "#" in text.replace("\\#", "") or text.endswith("\\"):
        yield Entry(name, value, "write it without #, at which Slurm stops reading, and without a \\ at its end.")
    elif not kind.accepts(text):
        yield Entry(name, value, f"use {kind.words}.")

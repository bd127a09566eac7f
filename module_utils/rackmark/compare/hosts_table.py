"""The hosts of a run as a table in which hosts that are the same share a row."""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable, Mapping, Sequence

from ..hostlist import compact
from ..numbers.words import MISSING

_Facts = Mapping[str, Any]


def hosts_table(hosts: Sequence[_Facts]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Headings and rows, with the columns that any host has something for."""
    columns = [name for name in _COLUMNS if any(_cell(host, name) != MISSING for host in hosts)]
    alike: dict[tuple[str, ...], list[str]] = {}
    for host in hosts:
        alike.setdefault(tuple(_cell(host, name) for name in columns), []).append(str(host["name"]))
    return ["hosts", *columns], [[compact(names), *cells] for cells, names in alike.items()]


def _cell(host: _Facts, column: str) -> str:
    key, words = _COLUMNS[column]
    value = host.get(key)
    return MISSING if value is None or value == [] else words(value)


def _gibibytes(megabytes: int) -> str:
    return f"{megabytes / 1024:.0f} GiB"


def _devices(devices: int | Sequence[str]) -> str:
    if isinstance(devices, int):
        return str(devices)
    return ", ".join(f"{count} \N{MULTIPLICATION SIGN} {name}" for name, count in Counter(devices).items())


_COLUMNS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "processors": ("cpus", str),
    "memory": ("memory_mb", _gibibytes),
    "model": ("model", str),
    "system": ("os", str),
    "kernel": ("kernel", str),
    "devices": ("devices", _devices),
    "driver": ("driver", str),
    "Python": ("python", str),
    "framework": ("package_version", str),
    "image": ("image_digest", str),
}

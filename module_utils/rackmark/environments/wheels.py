"""Which local wheels an interpreter can install."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Sequence


@dataclass(frozen=True)
class Interpreter:
    """What decides whether a wheel fits, as in cp311 on x86_64."""

    tag: str
    machine: str


@dataclass(frozen=True)
class Pin:
    """A requirement of one exact version, as in `torch==2.13.0`."""

    name: str
    version: str


def pin(requirement: str) -> Pin | None:
    match = re.match(r"\s*(?P<name>[\w.-]+?)\s*={2,3}\s*(?P<version>[^\s;,]+)", requirement)
    return Pin(match["name"], match["version"]) if match else None


def with_cpu_build(
    requirements: Sequence[str], name: str, folders: Iterable[Path], interpreter: Interpreter
) -> list[str] | None:
    """The requirements with the CPU build of package `name` in these folders, None where they have none that fits.

    The pinned version is taken, and the newest where that one is not there.
    """
    builds = _cpu_builds(name, folders, interpreter)
    if not builds:
        return None
    pinned = {found.version for found in map(pin, requirements) if found and _same(found.name, name)}
    wanted = [version for version in builds if version.partition("+")[0] in pinned]
    chosen = max(wanted or builds, key=_order)
    others = [each for each in requirements if (found := pin(each)) is None or not _same(found.name, name)]
    return [f"{name}=={chosen}", *others]


def _cpu_builds(name: str, folders: Iterable[Path], interpreter: Interpreter) -> list[str]:
    form = re.compile(
        rf"{re.escape(name.replace('-', '_'))}-(?P<version>[^-]+\+cpu[^-]*)"
        rf"-{interpreter.tag}-[^-]+-[^-]*{interpreter.machine}\.whl"
    )
    matches = [form.fullmatch(path.name) for folder in folders if folder.is_dir() for path in folder.iterdir()]
    return [match["version"] for match in matches if match]


def _same(one: str, other: str) -> bool:
    return re.sub(r"[-_.]+", "-", one).lower() == re.sub(r"[-_.]+", "-", other).lower()


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version.partition("+")[0])]

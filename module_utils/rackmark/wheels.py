"""Which local wheels an interpreter can install."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable


@dataclass(frozen=True)
class Interpreter:
    """What decides whether a wheel fits, as in cp311 on x86_64."""

    tag: str
    machine: str


def cpu_build(name: str, folders: Iterable[Path], interpreter: Interpreter) -> str | None:
    """The exact requirement of the newest CPU build of a package in these folders, as in `torch==2.13.0+cpu`."""
    form = re.compile(
        rf"{re.escape(name)}-(?P<version>[^-]+\+cpu[^-]*)-{interpreter.tag}-[^-]+-[^-]*{interpreter.machine}\.whl"
    )
    matches = [form.fullmatch(path.name) for folder in folders if folder.is_dir() for path in folder.iterdir()]
    versions = [match["version"] for match in matches if match]
    return f"{name}=={max(versions, key=_order)}" if versions else None


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version.partition("+")[0])]

"""Which files go to nodes with a program that runs there."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Iterator, Mapping

PACKAGE = Path(__file__).parent
NODE = "node"
_NAMES = f"{PACKAGE.name}.{NODE}"


def with_node_room(files: Mapping[str, str], folder: str) -> dict[str, str]:
    """Programs (content by path in `folder`) and the modules for nodes that they import, directly or through others.

    A program finds them because they lie beside it.
    """
    found: dict[str, str] = {}
    wanted = {name for path, content in files.items() if path.endswith(".py") for name in _imported(content)}
    while wanted - found.keys():
        name = min(wanted - found.keys())
        found[name] = (PACKAGE / NODE / f"{name}.py").read_text()
        wanted |= set(_imported(found[name]))
    if not found:
        return dict(files)
    room = {f"{PACKAGE.name}/__init__.py": (PACKAGE / "__init__.py").read_text()}
    for name in ("__init__", *sorted(found)):
        room[f"{PACKAGE.name}/{NODE}/{name}.py"] = (PACKAGE / NODE / f"{name}.py").read_text()
    return {**files, **{f"{folder}/{name}": content for name, content in room.items()}}


def _imported(source: str) -> Iterator[str]:
    """Names of the modules for nodes that this one imports."""
    for statement in ast.walk(ast.parse(source)):
        if not isinstance(statement, ast.ImportFrom):
            continue
        module = statement.module or ""
        package, _, name = module.rpartition(".")
        if statement.level == 1 and module:  # from .devices import job_devices
            yield module
        elif module == _NAMES or (statement.level == 1 and not module):  # from rackmark.node import devices
            yield from (alias.name for alias in statement.names)
        elif package == _NAMES:  # from rackmark.node.devices import job_devices
            yield name

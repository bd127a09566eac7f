"""Which files go to nodes with a program that runs there: the modules of this package that it imports."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Iterator, Mapping

PACKAGE = Path(__file__).parent


def with_node_room(files: Mapping[str, str], folder: str) -> dict[str, str]:
    """Programs (content by path in `folder`) and the modules for nodes that they import, directly or through others.

    A program finds them because they lie beside it.
    """
    programs = {path: content for path, content in files.items() if path.endswith(".py")}
    found = imported_modules(programs)
    return {**files, **{f"{folder}/{path}": content for path, content in found.items()}}


def imported_modules(programs: Mapping[str, str]) -> dict[str, str]:
    """Content by path, as in rackmark/node/devices.py, of what programs import of this package, at any distance."""
    found: dict[Path, str] = {}
    wanted = {path for content in programs.values() for path in _imported(content, None)}
    while wanted - found.keys():
        path = min(wanted - found.keys())
        found[path] = path.read_text()
        wanted |= {*_imported(found[path], path), *_packages_of(path)}
    return {str(path.relative_to(PACKAGE.parent)): found[path] for path in sorted(found)}


def _imported(source: str, path: Path | None) -> Iterator[Path]:
    """Files of the modules that this one imports; `path` is its own, None for one outside of the package."""
    for statement in ast.walk(ast.parse(source)):
        if not isinstance(statement, ast.ImportFrom):
            continue
        parts = (statement.module or "").split(".") if statement.module else []
        if statement.level and path is not None:  # from ..node.devices import job_devices
            place = path.parents[statement.level - 1].joinpath(*parts)
        elif not statement.level and parts[0] == PACKAGE.name:  # from rackmark.node.devices import job_devices
            place = PACKAGE.parent.joinpath(*parts)
        else:
            continue
        named = [place.with_suffix(".py"), *(place / f"{alias.name}.py" for alias in statement.names)]
        yield from (module for module in named if module.is_file())


def _packages_of(path: Path) -> Iterator[Path]:
    for folder in path.parents:
        if folder == PACKAGE.parent:
            return
        if (folder / "__init__.py").is_file():
            yield folder / "__init__.py"

"""FlagPerf's configuration files: test_conf.py and cluster_conf.py as a whole or not at all, those of cases in part."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, Mapping, Sequence

from .literals import UnreadableError, value_of

_LARGEST_FILE = 1 << 20
_MOST_FILES = 20  # that import each other


@dataclass
class ConfigFile:
    """`places` is where each name got its value, which may be a file that this one imports, `places_of_entries` where
    each key of a dict and each entry of a list stands.

    `unreadable` are sentences by the name that they leave without a value; where there is no name, by the line.
    """

    path: Path
    values: dict[str, object] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    places_of_entries: dict[str, Mapping[object, str]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)

    def at(self, name: str, entry: object = None) -> str:
        return self.places_of_entries.get(name, {}).get(entry, self.places.get(name, str(self.path)))


def read_whole(path: Path) -> ConfigFile:
    """Refuses a file with anything in it that is not NAME = value, with all places of it."""
    found = _read(path, follow=False)
    if found.unreadable:
        sentences = "\n".join(found.unreadable.values())
        raise ValueError(
            f"{sentences}\nNothing in this file is run: write out the values, as NAME = a literal, a list, a dict, or"
            " + and * of them and of earlier names."
        )
    return found


def read_part(path: Path) -> ConfigFile:
    """What `from x import *` names is read, too, if it is beside the file."""
    return _read(path, follow=True)


def _read(path: Path, follow: bool) -> ConfigFile:
    found = ConfigFile(path)
    reader = _Reader(found, follow)
    reader.read(path)
    return found


class _Reader:
    def __init__(self, found: ConfigFile, follow: bool) -> None:
        self._found = found
        self._follow = follow
        self._being_read: list[Path] = []

    def read(self, path: Path) -> None:
        self._being_read.append(path)
        for statement in _statements(path):
            self._take(statement, path)
        self._being_read.pop()

    def _take(self, statement: ast.stmt, path: Path) -> None:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return  # a text that documents something
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            return  # a type alone
        if isinstance(statement, ast.ImportFrom) and self._follow and self._take_import(statement, path):
            return
        target, value = _assigned(statement)
        if target is None or value is None:
            self._take_other(statement, path)
            return
        try:
            self._keep(target, value_of(value, self._found.values), value, path)
        except UnreadableError as error:
            self._lose(target, f"{path}, line {error.line}: {target} contains {error.what}.")

    def _keep(self, name: str, value: object, node: ast.expr, path: Path) -> None:
        found = self._found
        if self._follow:  # of a file that is read as a whole, what was not read stays in the way
            found.unreadable.pop(name, None)
        entries = dict(_lines_of_entries(node, found.values))
        found.values[name], found.places[name] = value, f"{path}, line {node.lineno}"
        found.places_of_entries[name] = {entry: f"{path}, line {line}" for entry, line in entries.items()}

    def _lose(self, name: str, sentence: str) -> None:
        self._found.values.pop(name, None)
        self._found.unreadable[name] = sentence

    def _take_import(self, statement: ast.ImportFrom, path: Path) -> bool:
        """False where there is nothing to follow."""
        if [alias.name for alias in statement.names] != ["*"] or statement.level or not statement.module:
            return False
        other = path.parent / f"{statement.module}.py"
        if other in self._being_read or len(self._being_read) == _MOST_FILES or not other.is_file():
            return False
        self.read(other)
        return True

    def _take_other(self, statement: ast.stmt, path: Path) -> None:
        """A statement that may change the names in it; modules, functions and classes are no settings."""
        what = f"{path}, line {statement.lineno}: {_kind(statement)} is not NAME = value"
        if not self._follow:
            self._found.unreadable[f"line {statement.lineno}"] = f"{what}."
            return
        if isinstance(statement, (ast.Import, ast.FunctionDef, ast.ClassDef)):
            return
        names = sorted(_names_that_change(statement))
        for name in names:
            self._lose(name, f"{what}: what it makes of {name} cannot be read.")
        if not names and not (isinstance(statement, ast.ImportFrom) and not _imports_all(statement)):
            self._found.unreadable[f"line {statement.lineno}"] = f"{what}."


def _statements(path: Path) -> Sequence[ast.stmt]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    if len(text) > _LARGEST_FILE:
        raise ValueError(f"{path} has {len(text)} bytes, which is no configuration file of FlagPerf.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd escapes in texts
            return ast.parse(text).body
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}. Python itself cannot read this file.") from None
    except (ValueError, RecursionError, MemoryError):
        raise ValueError(f"{path} is nested too deeply, or no text: Python itself cannot read this file.") from None


def _assigned(statement: ast.stmt) -> tuple[str | None, ast.expr | None]:
    targets: Sequence[ast.expr] = ()
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return None, None
    target = targets[0]
    return (target.id if len(targets) == 1 and isinstance(target, ast.Name) else None), statement.value


def _names_that_change(statement: ast.stmt) -> Iterator[str]:
    """Those that it assigns, wholly or a part of them."""
    for node in ast.walk(statement):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            root: ast.expr = node
            while isinstance(root, (ast.Attribute, ast.Subscript)):
                root = root.value
            if isinstance(root, ast.Name):
                yield root.id


def _lines_of_entries(node: ast.expr, names: Mapping[str, object]) -> Iterator[tuple[object, int]]:
    keys = node.keys if isinstance(node, ast.Dict) else node.elts if isinstance(node, ast.List) else []
    for key in keys:
        value = None if key is None else value_of(key, names)
        if key is not None and isinstance(value, (str, int)):
            yield value, key.lineno


def _imports_all(statement: ast.ImportFrom) -> bool:
    return any(alias.name == "*" for alias in statement.names)


def _kind(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Expr):
        return "a call" if isinstance(statement.value, ast.Call) else "an expression"
    kinds: Mapping[type, str] = {
        ast.For: "a loop",
        ast.While: "a loop",
        ast.If: "a condition",
        ast.Import: "an import",
        ast.ImportFrom: "an import",
        ast.FunctionDef: "a function",
        ast.ClassDef: "a class",
    }
    return kinds.get(type(statement), "this")

"""What runs on hosts runs with the Python of Ubuntu 20.04, which is 3.8."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Iterator

import pytest

ROOT = Path(__file__).parents[2]
# Modules and what they are made of, and programs that are copied to hosts.
PLACES = ("library", "module_utils", "roles")
BUILT_IN = {"list", "dict", "tuple", "set", "frozenset", "type"}
OF_COLLECTIONS = ("collections", "collections.abc")
# Of the standard library, by the version that they came with: methods and functions, modules, and keywords of calls.
NEWER_NAMES = {
    *("removeprefix", "removesuffix", "readlink", "is_relative_to", "with_stem", "cache", "lcm", "nextafter"),  # 3.9
    *("to_thread", "randbytes", "waitstatus_to_exitcode", "pidfd_open", "unparse"),
    *("pairwise", "bit_count", "hardlink_to", "aclosing", "EncodingWarning", "orig_argv"),  # 3.10
    *("add_note", "cbrt", "exp2", "StrEnum", "file_digest"),  # 3.11
    *("batched", "sumprod"),  # 3.12
}
NEWER_MODULES = {"graphlib", "zoneinfo", "tomllib"}
NEWER_KEYWORDS = {("zip", "strict"), ("dataclass", "slots"), ("dataclass", "kw_only"), ("bisect", "key")}


def files() -> list[Path]:
    return [path for place in PLACES for path in sorted((ROOT / place).rglob("*.py"))]


def annotations(tree: ast.AST) -> Iterator[ast.AST]:
    """Not evaluated, since every file imports annotations from the future."""
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if getattr(node, field, None) is not None:
                yield from ast.walk(getattr(node, field))


def newer_names(source: str) -> list[str]:
    """Lines with a type such as list[str] where Python 3.8 would evaluate it."""
    tree = ast.parse(source, feature_version=(3, 8))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in OF_COLLECTIONS
        for alias in node.names
    }
    evaluated_never = {id(node) for node in annotations(tree)}
    wrong = BUILT_IN | imported
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and id(node) not in evaluated_never
        and isinstance(node.value, ast.Name)
        and node.value.id in wrong
    ]


def newer_library(source: str) -> list[str]:
    """Lines that name something of the standard library that Python 3.8 does not have."""
    found = []
    for node in ast.walk(ast.parse(source, feature_version=(3, 8))):
        imported = {alias.name for alias in node.names} if isinstance(node, (ast.Import, ast.ImportFrom)) else set()
        modules = {node.module} if isinstance(node, ast.ImportFrom) else imported
        names = imported | ({node.attr} if isinstance(node, ast.Attribute) else set())
        names -= {"readlink"} if ast.unparse(node).startswith("os.") else set()  # older than that of a Path
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            names |= {f"{called}({word.arg}=)" for word in node.keywords if (called, word.arg) in NEWER_KEYWORDS}
        wrong = names & NEWER_NAMES | modules & NEWER_MODULES | {name for name in names if name.endswith("=)")}
        found += [f"line {node.lineno}: {name}" for name in sorted(wrong)]
    return found


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_type_is_evaluated_that_python_3_8_does_not_know(path):
    assert newer_names(path.read_text()) == []


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_of_the_library_is_used_that_python_3_8_does_not_have(path):
    assert newer_library(path.read_text()) == []


def test_what_is_looked_for():
    assert newer_names("Jobs = list[dict]\n") == ["line 1: list[dict]"]
    assert newer_names("from __future__ import annotations\ndef f(a: list[str]) -> dict[str, int]: ...\n") == []
    assert newer_library("import os\nos.readlink('a')\npath.readlink()\n") == ["line 3: readlink"]
    assert newer_library("from functools import cache\nzip([], [], strict=True)\nimport tomllib\n") == [
        "line 1: cache",
        "line 3: tomllib",
        "line 2: zip(strict=)",
    ]

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


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_type_is_evaluated_that_python_3_8_does_not_know(path):
    assert newer_names(path.read_text()) == []


def test_what_is_looked_for():
    assert newer_names("Jobs = list[dict]\n") == ["line 1: list[dict]"]
    assert newer_names("from __future__ import annotations\ndef f(a: list[str]) -> dict[str, int]: ...\n") == []

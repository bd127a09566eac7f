"""Values of FlagPerf's configuration files, which are Python: they are read as text, and nothing in them ever runs."""

from __future__ import annotations

import ast
import operator
from typing import Callable, Mapping

_LARGEST = 1 << 20  # characters or entries: a few characters of a file can ask for gigabytes
_LARGEST_NUMBER = 1e300
_OPERATORS: Mapping[type, Callable[[object, object], object]] = {ast.Add: operator.add, ast.Mult: operator.mul}
_REFUSED: Mapping[type, str] = {
    ast.Call: "a call",
    ast.ListComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.JoinedStr: "a text with braces to be filled in",
    ast.Lambda: "a function",
    ast.Attribute: "an attribute of something else",
    ast.Subscript: "a part of something else",
    ast.IfExp: "a condition",
    ast.BinOp: "an operation other than + and *",
}


class UnreadableError(Exception):
    """What stands at a line and is no value."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what


def value_of(node: ast.expr, names: Mapping[str, object]) -> object:
    """Of a literal, a list or a dict, or + and * of them and of earlier `names`."""
    if isinstance(node, ast.Constant):
        if node.value is not None and not isinstance(node.value, (str, int, float)):
            raise UnreadableError(node.lineno, f"a value of the kind {type(node.value).__name__}")
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise UnreadableError(node.lineno, f"the name {node.id}, which has no value before")
        return names[node.id]
    if isinstance(node, (ast.List, ast.Tuple)):
        return [value_of(each, names) for each in node.elts]
    if isinstance(node, ast.Dict):
        return _mapping(node, names)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return _signed(node, value_of(node.operand, names))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _combined(node, value_of(node.left, names), value_of(node.right, names))
    raise UnreadableError(node.lineno, _REFUSED.get(type(node), "something else than a value"))


def _mapping(node: ast.Dict, names: Mapping[str, object]) -> dict[object, object]:
    found: dict[object, object] = {}
    for key, value in zip(node.keys, node.values):
        if key is None:
            raise UnreadableError(value.lineno, "another dict that is unpacked")
        name = value_of(key, names)
        if isinstance(name, (list, dict)):
            raise UnreadableError(key.lineno, "a key that is a list or a dict")
        if name in found:
            raise UnreadableError(
                key.lineno, f"the key {name!r} for the second time, of which Python keeps the last alone"
            )
        found[name] = value_of(value, names)
    return found


def _signed(node: ast.UnaryOp, value: object) -> object:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise UnreadableError(node.lineno, "a sign before something else than a number")
    return -value if isinstance(node.op, ast.USub) else value


def _combined(node: ast.BinOp, left: object, right: object) -> object:
    try:
        if isinstance(node.op, ast.Mult) and _size(left) * _repeats(right) > _LARGEST:
            raise OverflowError
        if isinstance(node.op, ast.Mult) and _size(right) * _repeats(left) > _LARGEST:
            raise OverflowError
        found = _OPERATORS[type(node.op)](left, right)
    except TypeError:
        raise UnreadableError(node.lineno, "an operation on values that do not go together") from None
    except OverflowError:
        raise UnreadableError(node.lineno, "a value that is too large") from None
    if _size(found) > _LARGEST or (isinstance(found, (int, float)) and abs(found) > _LARGEST_NUMBER):
        raise UnreadableError(node.lineno, "a value that is too large")
    return found


def _size(value: object) -> int:
    return len(value) if isinstance(value, (str, list)) else 0


def _repeats(value: object) -> int:
    return value if isinstance(value, int) else 0

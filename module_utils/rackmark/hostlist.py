"""Slurm's short form of many host names: node1, node2, node3 as node[1-3]."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Iterable, Tuple

MOST_NAMES = 65_536
"""As many as Slurm itself takes."""

# Text before the number, text after it, digits of a zero-padded number (0 when it is not padded).
_Series = Tuple[str, str, int]


_LONGEST_TEXT = 60


def compact(names: Iterable[str]) -> str:
    """One expression that expands to exactly these names, each once.

    The number is the last run of digits in the first label, so that domains stay as they are.
    """
    unique = sorted(set(names))
    padded = {(prefix, suffix, len(digits)) for prefix, digits, suffix in map(_split, unique) if _is_padded(digits)}
    series: dict[_Series, list[int]] = defaultdict(list)
    plain = []
    for prefix, digits, suffix in map(_split, unique):
        if not digits:
            plain.append(prefix)
        else:
            # 10 counts on from 09 as well as from 9: it joins the padded names of its own length, if there are any.
            width = len(digits) if (prefix, suffix, len(digits)) in padded else 0
            series[prefix, suffix, width].append(int(digits))
    return ",".join(plain + [_expression(key, sorted(numbers)) for key, numbers in sorted(series.items())])


def in_order(names: Iterable[str]) -> str:
    """The names in the order given, for lists that Slurm reads side by side with another one; runs are shortened."""
    runs: list[list[str]] = []
    for name in names:
        if runs and name == _next_name(runs[-1][-1]):
            runs[-1].append(name)
        else:
            runs.append([name])
    return ",".join(compact(run) for run in runs)


def expand(expression: str) -> list[str]:
    """The names of an expression like node[1-3,07],gpu1: each once, in their order."""
    names: list[str] = []
    for part in re.findall(r"(?:\[[^\[\]]*\]|[^,])+", expression):
        match = re.fullmatch(r"([^\[\]]*)(?:\[([^\[\]]+)\]([^\[\]]*))?", part.strip())
        if not match:
            raise ValueError(f"{_brief(part)!r} is not a list of hosts: write one like node[1-3,7],gpu1.")
        pieces = match[2].split(",") if match[2] is not None else []
        ranges = [_range(piece, _brief(part.strip())) for piece in pieces]
        if len(names) + sum(last - first + 1 for first, last, _ in ranges) + (not ranges) > MOST_NAMES:
            raise ValueError(f"{_brief(expression)!r} names more than {MOST_NAMES:,} hosts, the most that Slurm takes.")
        names += [
            f"{match[1]}{number:0{width}d}{match[3]}"
            for first, last, width in ranges
            for number in range(first, last + 1)
        ] or [match[1]]
    return list(dict.fromkeys(name for name in names if name))


def _range(piece: str, within: str) -> tuple[int, int, int]:
    """First and last number, and the digits that the first one is written with."""
    match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", piece)
    if not match:
        raise ValueError(f"{_brief(piece)!r} in {within} is neither a number nor a range of numbers.")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise ValueError(f"{piece} in {within} runs backwards: write {match[2]}-{match[1]}.")
    return first, last, len(match[1])


def _brief(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."


def _next_name(name: str) -> str:
    prefix, digits, suffix = _split(name)
    return f"{prefix}{int(digits) + 1:0{len(digits)}d}{suffix}" if digits else ""


def _split(name: str) -> tuple[str, str, str]:
    label, dot, domain = name.partition(".")
    match = re.fullmatch(r"(.*?)(\d+)(\D*)", label)
    return (match[1], match[2], match[3] + dot + domain) if match else (name, "", "")


def _is_padded(digits: str) -> bool:
    return len(digits) > 1 and digits.startswith("0")


def _expression(key: _Series, numbers: list[int]) -> str:
    prefix, suffix, width = key
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    text = ",".join("-".join(f"{number:0{width}d}" for number in ends) for ends in ranges)
    return f"{prefix}{text}{suffix}" if len(numbers) == 1 else f"{prefix}[{text}]{suffix}"

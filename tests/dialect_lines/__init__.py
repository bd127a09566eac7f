"""What training programs write, line by line, for texts of any length in every dialect: fuzzing mutates them, the
benchmark makes large files of them. Numbers are drawn, so that no two lines are the same.
"""

from __future__ import annotations

from random import Random
from typing import Mapping

from rackmark.logs.dialect import Dialect
from rackmark.logs.template import Field, Literal, Template

from . import benchmarks, frameworks, large_models
from .parts import Lines, a_loss

LINES: Mapping[str, Lines] = {**frameworks.LINES, **large_models.LINES, **benchmarks.LINES}


def text_of(dialect: Dialect, count: int, seed: int = 0) -> str:
    """With lines made of its templates where the table has none."""
    chance = Random(seed)
    known = LINES.get(dialect.name)
    if known is None:
        return "".join(_of_templates(dialect, number, chance) for number in range(1, count + 1))
    return known.begin + "".join(known.of(number, chance) for number in range(1, count + 1)) + known.end


def _of_templates(dialect: Dialect, number: int, chance: Random) -> str:
    lines = [
        (_filled(one.head, number, chance) + " " if one.head else "") + _filled(one.line, number, chance)
        for one in dialect.kinds
    ]
    return "".join(f"{line}\n" for line in lines)


def _filled(template: Template, number: int, chance: Random) -> str:
    words = {"float": f"{a_loss(chance):.4f}", "int": str(number), "grouped": f"{number:,}"}
    words.update(word="word", rest='{"a": 1}')
    return "".join(
        part.text.decode() if isinstance(part, Literal) else words[part.kind] if isinstance(part, Field) else " "
        for part in template.parts
    )

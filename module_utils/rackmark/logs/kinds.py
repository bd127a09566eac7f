"""Kinds of lines, as a dialect declares them."""

from __future__ import annotations

from dataclasses import dataclass

from .template import Template


@dataclass(frozen=True)
class Kind:
    """A kind of line: `line` begins with what each of them holds, wherever in the line that is. Of kinds that may begin
    a match at the same place the first one counts.

    `head` is what has to stand at the begin of the same line, with fields of its own. A line may hold several matches:
    ranks that write at the same time glue their lines together. Each has its own head then, the last before it.
    """

    name: str
    line: Template
    head: Template | None = None


def kind(name: str, line: str, head: str | None = None) -> Kind:
    return Kind(name, Template(line), Template(head) if head else None)

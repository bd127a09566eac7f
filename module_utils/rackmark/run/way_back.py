"""The commands that resume and stop a run which a playbook has begun and no longer follows."""

from __future__ import annotations

import re
import shlex
from typing import Collection, Iterator, Sequence

from ..credentials import hidden_values
from .suite import ASKED

_EXTRA = ("-e", "--extra-vars")
# What a run has in its plan from its beginning, and how it is called.
_NOT_AGAIN = {*ASKED, *(f"benchmark_{name}" for name in ASKED), "suite", "run_id", "suite_id", "plan"} - {"data"}
_ASSIGNMENT = re.compile(r"(\w+)=")


def way_back(words: Sequence[str], name: str, playbooks: Collection[str], stop: str, columns: int) -> list[str]:
    """What to say where nobody follows any more, each command on lines of its own."""
    commands = {
        "resume": to_resume(words, name),
        "stop": to_stop(words, name, playbooks, stop),
    }
    what, _, value = name.partition("=")
    said = ["", f"The jobs of {value} go on."]
    for verb, command in commands.items():
        said += [f"To {verb} the {what.partition('_')[0]}:", *(f"  {line}" for line in lines_of(command, columns - 2))]
    return said


def to_resume(words: Sequence[str], name: str) -> list[str]:
    """`words` are those that were typed, `name` is run_id=... or suite_id=..."""
    return [*_without_asked(words), "-e", name]


def to_stop(words: Sequence[str], name: str, playbooks: Collection[str], stop: str) -> list[str]:
    """`playbooks` are those of the words that name playbooks, `stop` is the one that stops runs."""
    kept = to_resume(words, name)
    first = next((word for word in kept if word in playbooks), "")
    return [stop if word == first else word for word in kept if word == first or word not in playbooks]


def lines_of(words: Sequence[str], columns: int) -> list[str]:
    """As a shell takes them, over several lines where there is no room for one."""
    lines = [""]
    for word in map(shlex.quote, words):
        if lines[-1] and len(lines[-1]) + len(word) + len("  \\") > columns:
            lines[-1] += " \\"
            lines.append(f"  {word}")
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _without_asked(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        option, mark, value = word.partition("=")
        if word in _EXTRA:
            option, value = word, next(rest, "")
        elif not (mark and option == "--extra-vars"):
            yield word
            continue
        kept = _kept(value)
        if kept:
            yield from (option, hidden_values(kept))


def _kept(value: str) -> str:
    """Of name=value pairs those that a run does not know; anything else, as JSON or @file, as a whole."""
    try:
        pairs = shlex.split(value)
    except ValueError:
        return value
    names = [_ASSIGNMENT.match(pair) for pair in pairs]
    if not all(names):
        return value
    return " ".join(pair for pair, name in zip(pairs, names) if name and name[1] not in _NOT_AGAIN)

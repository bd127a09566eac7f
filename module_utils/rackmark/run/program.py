"""The words that start a workload's program: a template with names in braces, and what they stand for."""

from __future__ import annotations

import shlex
import string
from typing import Any, Collection, Iterable, Mapping

OF_THE_PLAN = ("batch", "precision", "device", "steps", "warmup", "duration", "data", "target", "target_name")
OF_THE_JOB = ("code", "python", "nodes", "devices_per_node", "world_size", "hostfile")
PLACEHOLDERS = (*OF_THE_PLAN, *OF_THE_JOB)
SCRIPTS = (".py", ".sh")


def names_in(template: str) -> set[str]:
    """The names in braces."""
    try:
        return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
    except ValueError as error:
        raise ValueError(f"is not a program: {error}; a brace that is meant as such is written twice.") from None


def words_in(template: str) -> list[str]:
    try:
        return shlex.split(template)
    except ValueError as error:
        raise ValueError(f"is not a program: {str(error).lower()}.") from None


def explicit(template: str, files: Collection[str]) -> str:
    """Says of the first word where it is: a file of the workload's folder, or a program that the nodes have."""
    first, *others = words_in(template)
    name = first[2:] if first.startswith("./") else first
    if name in files:
        started = [*(["{python}"] if name.endswith(".py") else []), f"{{code}}/{name}"]
        return " ".join(map(_quoted, [*started, *others]))
    return template


def missing_files(template: str, files: Collection[str]) -> list[str]:
    """Files of the workload's folder that the program names and the folder lacks."""
    first, *others = words_in(template)
    relative = not first.startswith(("/", "{")) and ("/" in first or first.endswith(SCRIPTS))
    named = [first[2:] if first.startswith("./") else first] if relative else []
    named += [word[len("{code}/") :] for word in (first, *others) if word.startswith("{code}/")]
    return [name for name in named if name not in files and "{" not in name]


def filled(template: str, values: Mapping[str, Any]) -> list[str]:
    """The words that start the program; a value with blanks remains one word."""
    return [word.format(**values) for word in words_in(template)]


def _quoted(word: str) -> str:
    """A shell would need more quotes, and people less."""
    plain = word.replace("{", "").replace("}", "")
    return word if plain and shlex.quote(plain) == plain else shlex.quote(word)


def with_flags(template: str, options: Iterable[str], flags: Iterable[str]) -> str:
    """`flags` are the operator's, and mean what they say: braces in them name nothing."""
    said = shlex.join(flags).replace("{", "{{").replace("}", "}}")
    return " ".join(part for part in (template, *options, said) if part)

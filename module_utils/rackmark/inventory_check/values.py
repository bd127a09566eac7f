"""Whether a variable's value is what the argument specification of its role allows.

Stricter than Ansible, which takes "a,b" for a list and hands the role the text all the same.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Callable, Collection, Iterator, Mapping

from .. import hostlist
from . import limits
from .asked import is_count
from .mappings import BY_HOST, MAPPINGS
from .problems import shown

Spec = Mapping[str, Any]

_SECRET = re.compile(r"passw|passphrase|key|secret|token", re.IGNORECASE)
_BOOLEANS = ("yes", "no", "true", "false", "on", "off", "y", "n", "t", "f", "1", "0")


def _is_whole(value: object) -> bool:
    return re.fullmatch(r"[+-]?[0-9]+", str(value).strip()) is not None and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return str(value).isascii() and "_" not in str(value) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return not isinstance(value, (dict, list, tuple))


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("text", _is_text),
    "path": ("a path", lambda value: isinstance(value, str)),
    "int": ("a whole number", _is_whole),
    "float": ("a number", _is_number),
    "bool": ("true or false", lambda value: str(value).strip().lower() in _BOOLEANS),
    "list": ("a list", lambda value: isinstance(value, (list, tuple))),
    "dict": ("a mapping", lambda value: isinstance(value, dict)),
}
_EXAMPLES = {"list": ["a", "b"], "dict": {"a": "b"}}


@dataclass(frozen=True)
class Fault:
    what: str
    fix: str


def names_a_secret(name: str) -> bool:
    return _SECRET.search(name) is not None


def is_secret(name: str, spec: Spec) -> bool:
    """Whether a value, or a part of it, must never be shown."""
    inner = spec.get("options") or {}
    return bool(spec.get("no_log") or names_a_secret(name) or any(is_secret(key, inner[key]) for key in inner))


def faults(
    name: str, spec: Spec, value: object, hosts: Collection[str] = (), groups: Collection[str] = ()
) -> Iterator[Fault]:
    """`hosts` and `groups` are the names that an option takes whose limit is "host" or "nodes"."""
    kind = str(spec.get("type", "str"))
    says = f"{name} is {_shown(name, spec, value)}"
    if value is None:
        if spec.get("required") or spec.get("default") is not None:
            yield Fault(f"{name} is empty", "give it a value, or remove it.")
    elif kind in _KINDS and not _KINDS[kind][1](value):
        yield Fault(says, f"use {_KINDS[kind][0]}{_in_json(name, kind) if kind in _EXAMPLES else ''}.")
    elif kind == "list":
        element = {**spec, "type": spec.get("elements", "raw"), "required": True}
        for number, item in enumerate(value):  # type: ignore[var-annotated,arg-type]
            yield from faults(f"{name}[{number}]", element, item, hosts)
    elif isinstance(value, dict) and spec.get("options"):
        yield from _faults_inside(name, spec, value, hosts)
    elif spec.get("choices"):
        if _text(value) not in map(_text, spec["choices"]):
            yield Fault(says, _choose(_text(value), list(map(_text, spec["choices"]))))
    elif spec.get("limit", limits.ANY) != limits.ANY:
        yield from _beyond_limit(name, spec, value, hosts, groups)


def _beyond_limit(
    name: str, spec: Spec, value: object, hosts: Collection[str], groups: Collection[str]
) -> Iterator[Fault]:
    words, says = spec["limit"], f"{name} is {_shown(name, spec, value)}"
    if words in MAPPINGS and isinstance(value, dict):
        for entry in MAPPINGS[words](value):
            where = f"{name}.{' '.join(entry.key.split())}"
            yield Fault(f"{where} is {_shown(entry.key, spec, entry.value)}", entry.fix)
        for key in sorted(map(str, set(value) - set(hosts))) if words in BY_HOST and hosts else []:
            yield Fault(f"{name} has {key!r}", _one_of(key, hosts))
        return
    if words == limits.HOST:
        if str(value) not in hosts:
            yield Fault(says, _one_of(str(value), hosts))
        return
    limit = limits.limit(words)
    if not limit.accepts(value, fractions=spec.get("type") == "float"):
        yield Fault(says, f"use {limit.words}.")
    elif limits.NODES in limit.kinds and not is_count(str(value)):
        for word in sorted(set(hostlist.expand(str(value))) - {*hosts, *groups}):
            close = get_close_matches(word, [*hosts, *groups], 1)
            fix = f"did you mean {close[0]}?" if close else f"the hosts are {hostlist.compact(hosts) or 'none'}."
            yield Fault(f"{name} has {shown(word)}, which is no number and no host or group of the inventory", fix)


def _one_of(word: str, hosts: Collection[str]) -> str:
    close = get_close_matches(word, hosts, 1)
    return f"use a host of the inventory{f' (did you mean {close[0]}?)' if close else ''}."


def _shown(name: str, spec: Spec, value: object) -> str:
    return "wrong (its value is not shown)" if is_secret(name, spec) else shown(value)


def _faults_inside(name: str, spec: Spec, value: Mapping[str, Any], hosts: Collection[str]) -> Iterator[Fault]:
    options: Mapping[str, Spec] = spec["options"]
    for key in value:
        if key not in options:
            yield Fault(f"{name} has {key!r}", _choose(str(key), sorted(options)))
    for key, inner in options.items():
        if key in value:
            yield from faults(f"{name}.{key}", inner, value[key], hosts)
        elif inner.get("required"):
            yield Fault(f"{name} has no {key}", f"add it: {described(inner)}")
    given = {key for key in value if value[key] is not None}
    for keys in spec.get("required_together", []) if given else []:
        missing = [key for key in keys if key not in given]
        if missing:
            yield Fault(
                f"{name} has no {' and no '.join(missing)}", f"give all of {', '.join(keys)}, or leave {name} empty."
            )
    for key, others in spec.get("required_by", {}).items():
        missing = [other for other in others if other not in given]
        if key in given and missing:
            yield Fault(f"{name} has {key} and no {' and no '.join(missing)}", f"give both, or leave {key} out.")
    for keys in spec.get("required_one_of", []) if given else []:
        if not given & set(keys):
            yield Fault(f"{name} has neither {' nor '.join(keys)}", "give one of them.")
    for keys in spec.get("mutually_exclusive", []):
        if len(given & set(keys)) > 1:
            yield Fault(f"{name} has {' and '.join(key for key in keys if key in given)}", "give one of them.")


def _text(value: object) -> str:
    """As YAML writes it: true stands for the text "true" as well."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def described(spec: Spec) -> str:
    text = spec.get("description", "")
    return text if isinstance(text, str) else " ".join(text)


def _choose(wrong: str, choices: list[str]) -> str:
    named = [choice for choice in choices if choice]
    close = get_close_matches(wrong, named, 1)
    words = ("one of " if len(named) > 1 else "") + ", ".join(named) + (", or leave it empty" if "" in choices else "")
    return f"use {words} (did you mean {close[0]}?)." if close else f"use {words}."


def _in_json(name: str, kind: str) -> str:
    """-e name=value gives nothing but text."""
    return f"; on the command line -e '{json.dumps({name: _EXAMPLES[kind]})}'" if name.isidentifier() else ""

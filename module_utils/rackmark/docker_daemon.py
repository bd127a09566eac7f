"""Docker's daemon.json: which of its keys are ours, and what a running engine has to do about a change.

A key belongs to who wrote it first. Keys of others stay as they are. Keys of ours are kept as they should be, and go
when they are no longer wanted. Only what the operator asks for by name overrules what others wrote.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict

Options = Dict[str, Any]

# What dockerd takes over when it is sent SIGHUP. It does so only for keys that are in the file: one that has gone keeps
# its old value until a restart.
RELOADED = frozenset(
    {
        "allow-nondistributable-artifacts",
        "authorization-plugins",
        "debug",
        "default-runtime",
        "insecure-registries",
        "labels",
        "live-restore",
        "max-concurrent-downloads",
        "max-concurrent-uploads",
        "max-download-attempts",
        "registry-mirrors",
        "runtimes",
        "shutdown-timeout",
    }
)
_ACTIONS = ("none", "reload", "restart")
# Others refuse max-size and max-file.
_ROTATING_LOG_DRIVERS = ("json-file", "local")


@dataclass(frozen=True)
class Merged:
    """The whole file as it should be, and the part of it to remember as ours."""

    options: Options
    ours: Options


def parse(text: str | None, path: Path) -> Options:
    """Options of a file; none where it is missing or empty."""
    if text is None or not text.strip():
        return {}
    try:
        options = json.loads(text)
    except ValueError as error:
        raise ValueError(
            f"{path} is not JSON ({error}) and was left alone: correct it, or move it away and run again."
        ) from error
    if not isinstance(options, dict):
        raise ValueError(f"{path} is JSON but not an object of options: correct it, or move it away and run again.")
    return options


def merge(current: Options, ours_before: Options, defaults: Options, wanted: Options) -> Merged:
    """`defaults` yield to what others wrote; `wanted` does not, and its nulls delete."""
    others = _without(current, ours_before)
    if (_overlay(_overlay(defaults, others), wanted).get("log-driver") or "json-file") not in _ROTATING_LOG_DRIVERS:
        defaults = {key: value for key, value in defaults.items() if key != "log-opts"}
    ours = _without(defaults, others)
    return Merged(_overlay(_overlay(others, ours), wanted), _overlay(ours, wanted))


def action(before: Options, after: Options) -> str:
    """What the engine needs to follow: nothing, a reload, or a restart."""
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    if not changed:
        return "none"
    return "reload" if all(key in after and key in RELOADED for key in changed) else "restart"


def strongest(*actions: str) -> str:
    """What does for all of them."""
    return max(actions, key=_ACTIONS.index)


def text_of(options: Options) -> str:
    return json.dumps(options, indent=4, ensure_ascii=False) + "\n"


def _without(tree: Options, taken: Options) -> Options:
    """The tree without the values that `taken` has a value for."""
    kept = {}
    for key, value in tree.items():
        if key not in taken:
            kept[key] = value
        elif isinstance(value, dict) and isinstance(taken[key], dict):
            rest = _without(value, taken[key])
            if rest:
                kept[key] = rest
    return kept


def _overlay(below: Options, above: Options) -> Options:
    """Both, `above` winning value by value; a null in it deletes."""
    result = dict(below)
    for key, value in above.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            under = result.get(key)
            result[key] = _overlay(under if isinstance(under, dict) else {}, value)
        else:
            result[key] = value
    return result

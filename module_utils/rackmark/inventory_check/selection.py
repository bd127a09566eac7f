"""Whether what --limit, --tags and -e say means something: Ansible passes over what does not, and ends well."""

from __future__ import annotations

import re
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Collection, Iterable, Iterator, Mapping

from .. import hostlist
from .cluster import GROUPS, LOCAL_NAMES
from .problems import shown
from .values import Fault

# Words that Ansible gives a meaning of their own.
_OF_ANSIBLE_TAGS = frozenset(("all", "tagged", "untagged", "always", "never"))
# Of a role, as in slurm_install.
_STEPS = ("_install", "_configure", "_run")
_GROUPS_OF_ANSIBLE = ("all", "ungrouped")
_SUBSCRIPT = re.compile(r"(.+)\[-?\d+(?:[:-]\d*)?\]")
_CLOSE = 0.6


def limit_faults(patterns: Iterable[str], hosts: Collection[str], groups: Iterable[str]) -> Iterator[Fault]:
    """Patterns are split already, as in ['slurm_compute[0:3]', '!node2', '&~node.*']."""
    names = {*hosts, *groups, *GROUPS, *_GROUPS_OF_ANSIBLE, *LOCAL_NAMES}
    for pattern in patterns:
        word = pattern.lstrip("!&")
        if word and not _matches_one(word, names):
            close = get_close_matches(word, sorted(names), 1, _CLOSE)
            fix = f"did you mean {close[0]}?" if close else f"the hosts are {hostlist.compact(hosts) or 'none'}."
            yield Fault(f"--limit names {shown(word)}, which is no host or group of the inventory", fix)


def extra_faults(given: Mapping[str, object]) -> Iterator[Fault]:
    """Ansible keeps the words of -e that are no name=value under this name."""
    if given.get("_raw_params"):
        what = f"-e has {shown(given['_raw_params'])}, which sets no variable"
        yield Fault(what, "write name=value without spaces around =, and quote a value that has spaces.")


def has_this_machine(patterns: Collection[str]) -> bool:
    """Whether a limit leaves the machine in that Ansible runs on, which belongs to no group."""
    words = {pattern.lstrip("!&"): pattern[:1] for pattern in patterns}
    excluded = any(sign == "!" and _matches_one(word, LOCAL_NAMES) for word, sign in words.items())
    included = any(sign != "!" and _matches_one(word, LOCAL_NAMES) for word, sign in words.items())
    only_excludes = all(sign == "!" for sign in words.values())
    return not excluded and (included or only_excludes)


def _matches_one(word: str, names: Collection[str]) -> bool:
    if word.startswith("~"):
        try:
            expression = re.compile(word[1:])
        except re.error:
            return False
        return any(map(expression.match, names))
    subscript = _SUBSCRIPT.fullmatch(word)
    words = {word, subscript[1]} if subscript else {word}  # [1-3] is a set of characters as well
    return any(fnmatchcase(name, each) for name in names for each in words)


def tag_faults(option: str, asked: Iterable[str], known: Collection[str], playbook: str) -> Iterator[Fault]:
    """Option is --tags or --skip-tags."""
    of_playbook = sorted(set(known) - _OF_ANSIBLE_TAGS)
    for tag in asked:
        if tag in _OF_ANSIBLE_TAGS or tag in of_playbook:
            continue
        close = get_close_matches(tag, of_playbook, 1, _CLOSE)
        what = f"{option} names {shown(tag)}, and {playbook} has no such tag"
        if not of_playbook:
            yield Fault(f"{option} names {shown(tag)}, and {playbook} has no tags", f"leave {option} out.")
        else:
            yield Fault(what, f"did you mean {close[0]}?" if close else _those(of_playbook))


def _those(tags: Collection[str]) -> str:
    whole = [tag for tag in tags if not tag.endswith(_STEPS)]
    steps = "; of a role also ROLE_install, ROLE_configure and ROLE_run" if len(whole) < len(tags) else ""
    return f"it has {', '.join(whole)}{steps}."


def part_faults(asked: Iterable[str], has_untagged: bool, playbook: str) -> Iterator[Fault]:
    """--tags leaves out every step that has no tag: without those, most operations do nothing at all."""
    chosen = sorted(set(asked) - {"all", "untagged"})
    if has_untagged and chosen and not {"all", "untagged"} & set(asked):
        yield Fault(
            f"--tags names {', '.join(chosen)}, and {playbook} only works as a whole",
            "leave --tags out; for one role there is site.yml.",
        )

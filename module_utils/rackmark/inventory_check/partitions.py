"""Whether Slurm's partitions have nodes that exist. slurmctld does not start with one that it does not know."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches
from typing import Any, Collection, Iterator, Mapping, Tuple

from .. import hostlist
from .problems import shown

NODES = "slurm_compute"

# What is wrong, and what to do.
Said = Tuple[str, str]


def faults(
    partitions: Collection[Mapping[str, Any]], groups: Mapping[str, Collection[str]], leaving: Collection[str] = ()
) -> Iterator[Said]:
    nodes = set(groups.get(NODES, ())) - set(leaving)
    if not partitions:
        yield (
            "slurm_partitions is an empty list",
            "give one partition, as in {name: compute, nodes: ALL, default: true}.",
        )
    for number, partition in enumerate(partitions):
        name = f"slurm_partitions[{number}].nodes"
        yield from _nodes(name, partition.get("nodes", "ALL"), groups, nodes, leaving)
    names = Counter(str(partition.get("name")).lower() for partition in partitions)
    for name in sorted(name for name, count in names.items() if count > 1):
        yield f"slurm_partitions has {names[name]} partitions {name!r}", "give each a name of its own."
    chosen = [str(partition.get("name")) for partition in partitions if _is_true(partition.get("default"))]
    if len(chosen) > 1:
        yield f"slurm_partitions has {len(chosen)} defaults, {', '.join(chosen)}", "leave default: true at one of them."


def _nodes(
    name: str, given: object, groups: Mapping[str, Collection[str]], nodes: Collection[str], leaving: Collection[str]
) -> Iterator[Said]:
    says = f"{name} is {shown(given)}"
    if not isinstance(given, (str, list)) or any(isinstance(word, (dict, list)) for word in given):
        yield says, "use ALL, a group of the inventory, or hosts, as in node[1-3]."
        return
    if isinstance(given, str) and any(character.isspace() for character in given):
        yield says, "write it without spaces, as in node[1-3],node7."
        return
    group = isinstance(given, str) and given in groups
    try:
        words = [str(word) for word in given] if isinstance(given, list) else named(given, groups)
    except ValueError as error:
        yield says, str(error)
        return
    if words == ["ALL"]:
        return
    for word in [] if group else sorted(set(words) - set(nodes) - set(leaving)):
        yield f"{name} has {shown(word)}, which is no host of {NODES}", _instead(word, given, groups, nodes)
    if (group or not words) and not set(words) & set(nodes):
        yield f"{says}, which names no host of {NODES}", "give the partition a node, or take it out."


def _instead(word: str, given: object, groups: Mapping[str, Collection[str]], nodes: Collection[str]) -> str:
    if word in groups:
        return f"a group stands by itself, as in nodes: {word}."
    if word in groups.get("all", ()):
        return "put the host into that group, or take it out of the partition."
    close = get_close_matches(word, [*groups, *nodes] if given == word else list(nodes), 1)
    if close:
        return f"did you mean {close[0]}?"
    return f"use ALL, a group of the inventory, or hosts of {NODES}, which are {hostlist.compact(nodes) or 'none'}."


def named(text: str, groups: Mapping[str, Collection[str]]) -> list[str]:
    """The hosts that a text names, as the template of slurm.conf reads it; ALL stays what it is."""
    if text.upper() == "ALL":
        return ["ALL"]
    return [str(host) for host in groups[text]] if text in groups else hostlist.expand(text)


def _is_true(value: object) -> bool:
    return str(value).strip().lower() in ("yes", "true", "on", "y", "t", "1")

"""Explanations of failed pings in words, each with where to look."""

from __future__ import annotations

from typing import Callable, Collection, Mapping

from ..hostlist import compact
from ..node.device_pings import LOST, REACHED
from .explain import BOTH, INSIDE, INTO, ONE_WAY, OUT_OF, PAIR, Explanation, explanations
from .matrix import Matrix

Teller = Callable[[Matrix, Explanation], str]
HCCS_ALONE = (
    "where the devices of a node talk over HCCS alone (Atlas A3), this is no fault: leave these pairs out with"
    " -e within_nodes=false"
)


def sentences(matrix: Matrix, links_down: Collection[str]) -> list[str]:
    found, left = explanations(matrix)
    told = _inside_nodes(matrix, found)
    for explanation in found:
        if (explanation.level, explanation.kind) != ("node", INSIDE):
            told.append(_TELLERS[explanation.level, explanation.kind](matrix, explanation))
    told = [_with_link(sentence, links_down) for sentence in told]
    told += _other_links([name for name in links_down if not any(_names(sentence, name) for sentence in told)])
    return [*told, *([f"{_pairs(left)} more failed: the matrix shows which."] if left else [])]


def _other_links(devices: Collection[str]) -> list[str]:
    """A sentence for each node."""
    numbers: dict[str, list[str]] = {}
    for name in devices:
        node, _, number = name.rpartition(" device ")
        numbers.setdefault(node, []).append(number)
    return [
        f"{node} device {found[0]}: its link is DOWN."
        if len(found) == 1
        else f"{node}: the links of devices {', '.join(found)} are DOWN."
        for node, found in numbers.items()
    ]


def _names(sentence: str, device: str) -> bool:
    return f"{device} (" in sentence


def _with_link(sentence: str, links_down: Collection[str]) -> str:
    down = [name for name in links_down if _names(sentence, name)]
    return f"{sentence[:-1]}; the link of {' and '.join(down)} is DOWN." if down else sentence


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count:,} pairs"


def _inside_nodes(matrix: Matrix, found: list[Explanation]) -> list[str]:
    alike = [one for one in found if (one.level, one.kind) == ("node", INSIDE)]
    if not alike:
        return []
    nodes = compact(matrix.names_of("node")[one.one] for one in alike)
    return [
        f"{nodes}: devices do not reach others of the same node ({_pairs(sum(one.pairs for one in alike))});"
        f" {HCCS_ALONE}."
    ]


def _lost(matrix: Matrix, one: int, other: int) -> str:
    said = matrix.said.get((one, other), "")
    return f" ({said})" if said else ""


def _pair(matrix: Matrix, it: Explanation) -> str:
    one, other = it.one, it.other
    if it.pairs == 2:
        return f"{matrix.name(one)} and {matrix.name(other)} do not reach one another{_lost(matrix, one, other)}."
    failed = (one, other) if matrix.marks[one, other] == LOST else (other, one)
    return _one_way(matrix, it._replace(one=failed[0], other=failed[1]))


def _one_way(matrix: Matrix, it: Explanation) -> str:
    back = matrix.marks[it.other, it.one]
    rest = {REACHED: ", which reaches it", LOST: ""}.get(str(back), "; the way back was not tested")
    return f"{matrix.name(it.one)} does not reach {matrix.name(it.other)}{_lost(matrix, it.one, it.other)}{rest}."


def _others(it: Explanation) -> str:
    return "device" if it.within else "device of another node"


def _device(matrix: Matrix, it: Explanation) -> str:
    return (
        f"{matrix.name(it.one)} reaches no {_others(it)} and is reached by none ({_pairs(it.pairs)}): look at its cable"
        " and its port of the switch."
    )


def _device_into(matrix: Matrix, it: Explanation) -> str:
    reaches = "it reaches others" if (matrix.marks[it.one] == REACHED).any() else "it was not seen to reach one"
    return f"{matrix.name(it.one)} is reached by no {_others(it)} ({_pairs(it.pairs)}); {reaches}."


def _device_out(matrix: Matrix, it: Explanation) -> str:
    reached = "others reach it" if (matrix.marks[:, it.one] == REACHED).any() else "it was not seen to be reached"
    return (
        f"{matrix.name(it.one)} reaches no {_others(it)} ({_pairs(it.pairs)}); {reached}: look at its gateway and"
        " netmask."
    )


def _all(_: Matrix, it: Explanation) -> str:
    whom = "another" if it.within else "one of another node"
    return f"No device reaches {whom} ({_pairs(it.pairs)}): look at the links and at the switches."


def _of(field: str, form: str) -> Teller:
    """A sentence on groups of devices, in which {one} and {other} stand for their names."""

    def tell(matrix: Matrix, it: Explanation) -> str:
        names = [str(name) for name in matrix.names_of(field)]
        one, other = (names[it.one] or "unknown", names[it.other] or "unknown")
        return form.format(one=one, other=other, pairs=_pairs(it.pairs))

    return tell


_TELLERS: Mapping[tuple[str, str], Teller] = {
    ("device", PAIR): _pair,
    ("device", ONE_WAY): _one_way,
    ("device", BOTH): _device,
    ("device", INTO): _device_into,
    ("device", OUT_OF): _device_out,
    ("node", PAIR): _of("node", "The devices of {one} and those of {other} do not reach one another ({pairs})."),
    ("node", ONE_WAY): _of("node", "No device of {one} reaches one of {other} ({pairs})."),
    ("node", BOTH): _of(
        "node",
        "{one}: none of its devices reaches another node or is reached from there ({pairs}): look at the switch that"
        " they are connected to.",
    ),
    ("node", INTO): _of("node", "{one}: none of its devices is reached from another node ({pairs})."),
    ("node", OUT_OF): _of("node", "{one}: none of its devices reaches another node ({pairs})."),
    ("network", INSIDE): _of(
        "network",
        "Network {one}: no device reaches one of another node ({pairs}): look at its switches.",
    ),
    ("network", PAIR): _of(
        "network", "Networks {one} and {other} do not reach one another ({pairs}): look at the devices' gateways."
    ),
    ("network", ONE_WAY): _of(
        "network", "No device in {one} reaches one in {other} ({pairs}): look at the gateway of {one}."
    ),
    ("network", BOTH): _of(
        "network",
        "Network {one}: nothing reaches another node or is reached from there ({pairs}): look at its switches.",
    ),
    ("all", INSIDE): _all,
    ("number", INSIDE): _of(
        "number",
        "Devices number {one} do not reach each other between nodes ({pairs}): look at the switch they share.",
    ),
}

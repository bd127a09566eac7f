"""Cases: how many nodes, and how many devices on each, one measurement uses."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(r"([1-9][0-9]*)n([1-9][0-9]*)g")


@dataclass(frozen=True)
class Case:
    nodes: int
    devices_per_node: int

    @property
    def name(self) -> str:
        return f"{self.nodes}n{self.devices_per_node}g"

    @property
    def world_size(self) -> int:
        return self.nodes * self.devices_per_node

    @classmethod
    def parse(cls, text: str) -> Case:
        match = _FORM.fullmatch(text)
        if match is None:
            raise ValueError(
                f"{text!r} is not a case: write <nodes>n<devices per node>g with both at least 1, for example 2n8g."
            )
        return cls(nodes=int(match.group(1)), devices_per_node=int(match.group(2)))


def scaling_series(nodes: int, devices_per_node: int) -> list[Case]:
    """Doubles the devices on one node up to all of them, then the full nodes up to `nodes`."""
    on_one_node = [Case(1, devices) for devices in _doubling(devices_per_node)]
    on_more_nodes = [Case(count, devices_per_node) for count in _doubling(nodes) if count > 1]
    return on_one_node + on_more_nodes


def _doubling(last: int) -> list[int]:
    """1, 2, 4 ... up to `last`, which is always included."""
    powers = [2**exponent for exponent in range(last.bit_length())]
    return powers if powers[-1] == last else [*powers, last]


@dataclass(frozen=True)
class CaseRequest:
    """A case as an operator names it; what the notation leaves open is None."""

    case: Case
    repeats: int | None = None
    model: str | None = None
    framework: str | None = None
    hardware: str | None = None

    @classmethod
    def parse(cls, text: str) -> CaseRequest:
        """Reads `2n8g`, and FlagPerf's `model:framework:hardware:nnodes:nproc:repeat`."""
        if ":" not in text:
            return cls(Case.parse(text))
        fields = text.split(":")
        if len(fields) != 6 or not all(fields) or not all(_is_count(number) for number in fields[3:]):
            raise ValueError(
                f"{text!r} is not a case: FlagPerf's notation is <model>:<framework>:<hardware>:<nodes>:<devices per"
                " node>:<repeats> with numbers of at least 1, for example resnet50:pytorch_2.0:A100:2:8:3."
            )
        model, framework, hardware = fields[:3]
        nodes, devices, repeats = map(int, fields[3:])
        return cls(Case(nodes, devices), repeats, model, framework.partition("_")[0], hardware)


def choose_cases(
    nodes: int | str | None, cases: str | None, available_nodes: int, devices_per_node: int
) -> list[CaseRequest]:
    """Turns the operator's `nodes` or `cases` into cases that the cluster can run; neither means all nodes.

    `nodes` is a number (a string of digits when it comes from a command line), `cases` a list as in "1n8g,4n8g".
    """
    if available_nodes < 1 or devices_per_node < 1:
        raise ValueError(
            f"There is nothing to measure on: the cluster has {available_nodes} nodes"
            f" with {devices_per_node} devices each."
        )
    if nodes is not None and cases is not None:
        raise ValueError(f"nodes={nodes} and cases={cases} were both given: give one of them.")
    if cases is not None:
        return _picked(cases, available_nodes, devices_per_node)
    wanted = available_nodes if nodes is None else _node_count(nodes)
    _check_nodes(f"nodes={wanted}", wanted, available_nodes)
    return [CaseRequest(case) for case in scaling_series(wanted, devices_per_node)]


def _node_count(nodes: int | str) -> int:
    text = str(nodes).strip()
    if not _is_count(text):
        raise ValueError(f"nodes={nodes} is not a number of nodes: give a whole number of at least 1.")
    return int(text)


def _picked(cases: str, available_nodes: int, devices_per_node: int) -> list[CaseRequest]:
    picked: list[CaseRequest] = []
    for text in cases.split(","):
        request = CaseRequest.parse(text.strip())
        case = request.case
        _check_nodes(f"Case {case.name}", case.nodes, available_nodes)
        if case.devices_per_node > devices_per_node:
            raise ValueError(
                f"Case {case.name} needs {case.devices_per_node} devices per node, a node has {devices_per_node}."
            )
        if case in [other.case for other in picked]:
            raise ValueError(f"Case {case.name} is listed twice in cases={cases}: use repeats to run it more often.")
        picked.append(request)
    return picked


def _check_nodes(what: str, wanted: int, available: int) -> None:
    if wanted > available:
        raise ValueError(f"{what} needs {wanted} nodes, the cluster has {available}.")


def _is_count(text: str) -> bool:
    return text.isdecimal() and int(text) > 0

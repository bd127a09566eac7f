"""Which devices ping each other, from what their nodes say and what the inventory gives them."""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Sequence

from ..hostlist import compact
from ..node import hccn

Entry = Dict[str, Any]


class Node(NamedTuple):
    """What is known of one node: the answer of the module device_network_interfaces, and its part of the inventory."""

    answer: Mapping[str, Any]
    given: Sequence[Mapping[str, object]]


class Partners(NamedTuple):
    """`devices` as the module device_network_ping takes them. `problems` are sentences, each of one node or address."""

    devices: list[Entry]
    problems: list[str]
    links_down: list[str]  # "node2 device 3"


def partners(nodes: Mapping[str, Node], named: bool) -> Partners:
    """Devices in the order of nodes and numbers. `named`: the operator chose these nodes, so that each has devices."""
    devices, problems, links_down = [], [], []
    for name, node in nodes.items():
        if "devices" not in node.answer:
            problems.append(f"{name} was not asked, and its devices were not tested: {reason(node.answer)}")
            continue
        found = node.answer["devices"]
        problems += _miscounted(name, len(found), len(node.given), named)
        problems += [f"{name}: {problem}." for problem in node.answer["problems"]]
        for device in found:
            problems += _unlike_inventory(name, device, node.given)
            if device["address"]:
                devices.append({"node": name, **{key: device[key] for key in _OF_A_DEVICE}})
            if device["link"] == "DOWN":
                links_down.append(f"{name} device {device['number']}")
    problems += _shared(devices)
    if len(devices) < 2:
        several = "1 Ascend device tells its address" if devices else "no Ascend device tells its address"
        problems.append(f"On {compact(nodes) or 'no node'} {several}: a ping takes two devices.")
    return Partners(devices, problems, links_down)


_OF_ANSIBLE = "Task failed: "
_OF_A_DEVICE = ("number", "address", "network", "has_gateway")


def reason(answer: Mapping[str, Any]) -> str:
    """Why a task failed on a node, in one line."""
    lines = str(answer.get("msg") or "it did not answer").strip().splitlines()
    line = lines[0].strip().rstrip(".")
    return f"{line[len(_OF_ANSIBLE) :] if line.startswith(_OF_ANSIBLE) else line}."


def _miscounted(name: str, found: int, given: int, named: bool) -> list[str]:
    if given and given != found:
        several = "1 Ascend device" if found == 1 else f"{found} Ascend devices"
        return [
            f"{name} has {several} and ascend_device_addresses names {given}: give one for each, or look"
            " for the missing device with npu-smi info."
        ]
    if named and not found:
        return [f"{name} has no Ascend device: leave it out of nodes=, or look at its driver with npu-smi info."]
    return []


def _unlike_inventory(name: str, device: Mapping[str, Any], given: Sequence[Mapping[str, object]]) -> list[str]:
    number, says = device["number"], device["address"]
    if number >= len(given) or not says:
        return []
    try:
        wanted = hccn.settings(given[number])[0].values["address"]
    except ValueError as error:
        return [f"{name}: {error}."]
    if wanted == says:
        return []
    return [
        f"{name}: device {number} says {says} and the inventory gives it {wanted}: run site.yml --tags ascend, or"
        " correct ascend_device_addresses."
    ]


def _shared(devices: Sequence[Entry]) -> list[str]:
    owners: dict[str, list[str]] = {}
    for device in devices:
        owners.setdefault(device["address"], []).append(f"{device['node']} device {device['number']}")
    return [
        f"{' and '.join(names)} say the same address, {address}: give each one of its own in ascend_device_addresses"
        " and run site.yml --tags ascend."
        for address, names in owners.items()
        if len(names) > 1
    ]

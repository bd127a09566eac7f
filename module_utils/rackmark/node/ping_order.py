"""Whom an Ascend device pings, and in which order, so that the part that fits into the time is a fair sample."""

from __future__ import annotations

from itertools import zip_longest
from typing import Mapping, NamedTuple, Sequence

WITHIN_NODE, SAME_NETWORK, OTHER_NETWORK, NO_WAY = "within_node", "same_network", "other_network", "no_way"

_GOLDEN = 0.6180339887498949  # multiples of it spread evenly, however many of them are taken


class Device(NamedTuple):
    """One of all devices that take part. Its place in their list is its number for this purpose.

    `network` is "" where the device does not tell its netmask.
    """

    node: str
    number: int
    address: str
    network: str
    has_gateway: bool


def read(entries: Sequence[Mapping[str, object]]) -> list[Device]:
    """From what Ansible handed on."""
    return [
        Device(
            str(entry["node"]),
            int(str(entry["number"])),
            str(entry["address"]),
            str(entry["network"]),
            bool(entry["has_gateway"]),
        )
        for entry in entries
    ]


def way(one: Device, other: Device) -> str:
    """How a packet gets from one device to the other."""
    if one.node == other.node:
        return WITHIN_NODE
    if one.network == other.network or not one.network or not other.network:
        return SAME_NETWORK
    return OTHER_NETWORK if one.has_gateway else NO_WAY


def targets(devices: Sequence[Device], own: int, within_nodes: bool) -> list[int]:
    """Places of the devices that this one pings: each kind of way in turn, near and far ones mixed.

    Every device takes the same steps along the list from its own place. So at any moment all are pinged about equally
    often, and the way back is tested right after the way there.
    """
    by_way: dict[str, list[int]] = {}
    for place, other in enumerate(devices):
        kind = way(devices[own], other)
        if place != own and kind != NO_WAY and (within_nodes or kind != WITHIN_NODE):
            by_way.setdefault(kind, []).append(place)
    in_turn = [
        sorted(places, key=lambda place: _turn(place - own, len(devices))) for _, places in sorted(by_way.items())
    ]
    return [place for several in zip_longest(*in_turn) for place in several if place is not None]


def _turn(step: int, count: int) -> tuple[float, bool]:
    there = step % count
    nearer = min(there, count - there)
    return (nearer * _GOLDEN) % 1, there != nearer

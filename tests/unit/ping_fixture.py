"""Matrices of pings between devices, of which some fail."""

from __future__ import annotations

from typing import Callable

from rackmark.node.ping_order import Device
from rackmark.ping_matrix.matrix import Matrix, matrix

Fails = Callable[[Device, Device], bool]


def devices(nodes: int, each: int, network: Callable[[int], str] = lambda _: "10.0.0.0/16") -> list[Device]:
    return [
        Device(f"node{node}", number, f"10.0.{node}.{number}", network(number), False)
        for node in range(1, nodes + 1)
        for number in range(each)
    ]


def pinged(among: list[Device], mark: Callable[[Device, Device], str], within_nodes: bool = True) -> Matrix:
    rows = []
    for place, one in enumerate(among):
        marks = "".join(" " if other == one else mark(one, other) for other in among)
        lost = ",".join(str(other) for other, letter in enumerate(marks) if letter == "-")
        times = ",".join("0.05" if letter == "+" else "" for letter in marks)
        said = {"3 of 3 packets lost": lost} if lost else {}
        rows.append({"place": place, "marks": marks, "milliseconds": times, "said": said})
    return matrix(among, rows, within_nodes)


def failing(among: list[Device], fails: Fails) -> Matrix:
    return pinged(among, lambda one, other: "-" if fails(one, other) else "+")


def is_device(device: Device, node: str, number: int) -> bool:
    return (device.node, device.number) == (node, number)

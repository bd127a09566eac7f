"""Who reaches whom: a row for each device that pings, a column for each that is pinged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..node.device_pings import LOST, REACHED, UNKNOWN
from ..node.ping_order import OTHER_NETWORK, SAME_NETWORK, WITHIN_NODE, Device, way

NOT_TESTED, NO_WAY, LEFT_OUT, ITSELF = ".", "x", "w", " "
WORDS = {
    REACHED: "reached",
    LOST: "lost",
    UNKNOWN: "no_result",
    NOT_TESTED: "not_tested",
    NO_WAY: "no_way",
    LEFT_OUT: "left_out",
}
WAYS = {
    WITHIN_NODE: "within a node",
    SAME_NETWORK: "between nodes, in a network",
    OTHER_NETWORK: "between networks",
}
Marks = npt.NDArray[np.str_]


@dataclass(frozen=True)
class Matrix:
    devices: Sequence[Device]
    marks: Marks
    milliseconds: npt.NDArray[np.float64]  # NaN where nothing was measured
    said: Mapping[tuple[int, int], str]

    def name(self, place: int) -> str:
        device = self.devices[place]
        return f"{device.node} device {device.number} ({device.address})"

    def short_name(self, place: int) -> str:
        return f"{self.devices[place].node} device {self.devices[place].number}"

    def counts(self, where: npt.NDArray[np.bool_] | None = None) -> dict[str, int]:
        marks = self.marks if where is None else self.marks[where]
        return {word: int(np.count_nonzero(marks == mark)) for mark, word in WORDS.items()}

    def by_way(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Which pairs go which way, of those ways that there are."""
        node, network = self.groups("node"), self.groups("network")
        nowhere = self._unknown_networks()
        within = node[:, None] == node[None, :]
        same = (network[:, None] == network[None, :]) | nowhere[:, None] | nowhere[None, :]
        ways = {WITHIN_NODE: within, SAME_NETWORK: ~within & same, OTHER_NETWORK: ~within & ~same}
        tested = {kind: where & (self.marks != ITSELF) for kind, where in ways.items()}
        return {kind: where for kind, where in tested.items() if where.any()}

    def _unknown_networks(self) -> npt.NDArray[np.bool_]:
        return np.array([not device.network for device in self.devices], dtype=bool)

    def groups(self, field: str) -> npt.NDArray[np.intp]:
        """For each device the number of its node, or network."""
        values = [getattr(device, field) for device in self.devices]
        numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
        return np.array([numbers[value] for value in values], dtype=np.intp)

    def names_of(self, field: str) -> list[str]:
        """In the order of their numbers."""
        return list(dict.fromkeys(getattr(device, field) for device in self.devices))


def matrix(devices: Sequence[Device], pings: Sequence[Mapping[str, Any]], within_nodes: bool) -> Matrix:
    """From what the nodes report. Pairs of a node that reports nothing were not tested."""
    count = len(devices)
    marks = np.full((count, count), NOT_TESTED, dtype="<U1")
    milliseconds = np.full((count, count), np.nan)
    said: dict[tuple[int, int], str] = {}
    reported = set()
    for row in pings:
        place = int(row["place"])
        reported.add(place)
        marks[place] = list(row["marks"])
        milliseconds[place] = [float(text) if text else np.nan for text in row["milliseconds"].split(",")]
        said.update({(place, int(other)): text for text, others in row["said"].items() for other in others.split(",")})
    for place in set(range(count)) - reported:
        if not within_nodes:
            marks[place] = [LEFT_OUT if way(devices[place], other) == WITHIN_NODE else NOT_TESTED for other in devices]
    np.fill_diagonal(marks, ITSELF)
    return Matrix(devices, marks, milliseconds, said)

"""What a virtual cluster is asked to be: names, addresses and paths, derived from a few options."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping

MAX_NODES = 64
MAX_ACCELERATORS = 16
SUITES = ("bookworm", "trixie")
HEAD = "head"

_FIRST_NODE_OFFSET = 11  # .1 is the gateway, .2 the head; .3 to .10 stay free for other services


class LabError(Exception):
    """Something the user has to know or change, as a sentence."""


@dataclass(frozen=True)
class Accelerators:
    """Simulated devices of one node."""

    vendor: str
    count: int

    @classmethod
    def parse(cls, node: str, wanted: object) -> Accelerators:
        match = re.fullmatch(r"(nvidia|ascend):([1-9][0-9]?)", str(wanted))
        if not match or int(match[2]) > MAX_ACCELERATORS:
            raise LabError(
                f"lab_accelerators has {wanted!r} for {node}: use nvidia:N or ascend:N, with N from 1 to"
                f" {MAX_ACCELERATORS}."
            )
        return cls(match[1], int(match[2]))

    def __str__(self) -> str:
        return f"{self.vendor}:{self.count}"


@dataclass(frozen=True)
class NodeSpec:
    name: str
    address: str
    machine: str
    cpu_share: float | None
    accelerators: Accelerators | None = None


@dataclass(frozen=True)
class LabSpec:
    name: str
    nodes: int
    suite: str
    subnet: str
    cpu_share: float
    state_dir: Path
    shared_dir: str
    accelerators: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9]{0,9}", self.name):
            raise LabError(
                f"lab_name={self.name!r} cannot name a bridge:"
                " use up to 10 lower-case letters and digits, a letter first."
            )
        if not 1 <= self.nodes <= MAX_NODES:
            raise LabError(f"lab_nodes={self.nodes} is out of range: use 1 to {MAX_NODES}.")
        if self.suite not in SUITES:
            raise LabError(f"lab_suite={self.suite!r} is unknown: use one of {', '.join(SUITES)}.")
        if not 0 < self.cpu_share <= 1:
            raise LabError(f"lab_cpu_share={self.cpu_share} is out of range: use more than 0 and at most 1 (one core).")
        highest = _FIRST_NODE_OFFSET + MAX_NODES
        try:
            network = ipaddress.IPv4Network(self.subnet)
        except ValueError as error:
            raise LabError(
                f"lab_subnet={self.subnet!r} is not an IPv4 network ({error}): use one like 10.77.0.0/24."
            ) from error
        if network.num_addresses <= highest:
            raise LabError(f"lab_subnet={self.subnet} is too small for {MAX_NODES} nodes: use a /24 or larger.")
        strangers = sorted(set(self.accelerators) - {node.name for node in self.node_specs()})
        if strangers:
            raise LabError(
                f"lab_accelerators names {', '.join(strangers)}, and with lab_nodes={self.nodes} the nodes are {HEAD}"
                f" and node1 to node{self.nodes}: correct the name, or ask for more nodes."
            )

    @property
    def network(self) -> ipaddress.IPv4Network:
        return ipaddress.IPv4Network(self.subnet)

    @property
    def gateway(self) -> str:
        return str(self.network[1])

    @property
    def bridge(self) -> str:
        return f"rmk-{self.name}"

    @property
    def nft_table(self) -> str:
        return f"rackmark_{self.name}"

    @property
    def directory(self) -> Path:
        return self.state_dir / "labs" / self.name

    @property
    def image(self) -> Path:
        return self.state_dir / "images" / self.suite

    def node_specs(self) -> list[NodeSpec]:
        head = self._node_spec(HEAD, offset=2, cpu_share=None)
        return [head] + [
            self._node_spec(f"node{i}", offset=_FIRST_NODE_OFFSET + i - 1, cpu_share=self.cpu_share)
            for i in range(1, self.nodes + 1)
        ]

    def _node_spec(self, name: str, offset: int, cpu_share: float | None) -> NodeSpec:
        devices = Accelerators.parse(name, self.accelerators[name]) if name in self.accelerators else None
        return NodeSpec(name, str(self.network[offset]), f"{self.name}-{name}", cpu_share, devices)


def default_cpu_share(cores: int, nodes: int) -> float:
    """Each compute node's slice of a core: 80 % of the machine divided evenly, so that no node slows another."""
    return min(1.0, round(0.8 * cores / nodes, 2)) or 0.01

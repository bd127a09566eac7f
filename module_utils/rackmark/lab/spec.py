"""What a virtual cluster is asked to be: names, addresses and paths, derived from a few options."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path

MAX_NODES = 64
SUITES = ("bookworm", "trixie")
HEAD = "head"

_FIRST_NODE_OFFSET = 11  # .1 is the gateway, .2 the head; .3 to .10 stay free for other services


class LabError(Exception):
    """Something the user has to know or change, as a sentence."""


@dataclass(frozen=True)
class NodeSpec:
    name: str
    address: str
    machine: str
    cpu_share: float | None


@dataclass(frozen=True)
class LabSpec:
    name: str
    nodes: int
    suite: str
    subnet: str
    cpu_share: float
    state_dir: Path
    shared_dir: str

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
        head = NodeSpec(HEAD, str(self.network[2]), f"{self.name}-{HEAD}", None)
        return [head] + [
            NodeSpec(f"node{i}", str(self.network[_FIRST_NODE_OFFSET + i - 1]), f"{self.name}-node{i}", self.cpu_share)
            for i in range(1, self.nodes + 1)
        ]


def default_cpu_share(cores: int, nodes: int) -> float:
    """Each compute node's slice of a core: 80 % of the machine divided evenly, so that no node slows another."""
    return min(1.0, round(0.8 * cores / nodes, 2)) or 0.01

"""What sinfo says of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Mapping

from .hostlist import compact

SINFO_FORMAT = "%N|%T|%u|%E"  # name, state, who gave the reason, reason

# Why playbooks/rolling.yml drains a node. Found later, it means that rolling.yml did not finish.
ROLLING_REASON = "changed by rolling.yml"

_TAKES_JOBS = {"idle", "allocated", "mixed", "completing", "planned"}
_HELD = ("drained", "draining", "maint")


@dataclass(frozen=True)
class NodeState:
    name: str
    state: str
    reason_by: str
    reason: str

    @property
    def takes_jobs(self) -> bool:
        """Slurm marks a node that does not answer with a sign after its state, as in `idle*`: not one of ours."""
        return self.state in _TAKES_JOBS

    @property
    def held_by_a_person(self) -> bool:
        by_itself = self.reason_by in ("slurm", "Unknown") or self.reason.startswith("rackmark:")  # the health check
        return self.state.startswith(_HELD) and not by_itself and not self.drained_by_rolling

    @property
    def drained_by_rolling(self) -> bool:
        return self.state.startswith("drain") and self.reason == ROLLING_REASON


def parse_sinfo(output: str) -> dict[str, NodeState]:
    rows = (line.split("|", 3) for line in output.splitlines() if line.count("|") >= 3)
    return {name: NodeState(name, state, reason_by.strip(), reason.strip()) for name, state, reason_by, reason in rows}


@dataclass(frozen=True)
class Census:
    """Nodes by what Slurm can do with them."""

    fit: list[str]
    held: list[NodeState]
    left_by_rolling: list[NodeState]
    unfit: list[NodeState]
    missing: list[str]

    @property
    def silent(self) -> list[str]:
        """Those from whose slurmd nothing is heard; the reason is on the node."""
        return [node.name for node in self.unfit if node.state.endswith("*") or node.state in ("down", "unknown")]


def take_census(wanted: Iterable[str], states: Mapping[str, NodeState]) -> Census:
    known = [states[name] for name in wanted if name in states]
    return Census(
        fit=[node.name for node in known if node.takes_jobs],
        held=[node for node in known if node.held_by_a_person],
        left_by_rolling=[node for node in known if node.drained_by_rolling],
        unfit=[node for node in known if not (node.takes_jobs or node.held_by_a_person or node.drained_by_rolling)],
        missing=[name for name in wanted if name not in states],
    )


def _because(node: NodeState) -> str:
    return f" ({node.reason})" if node.reason not in ("", "none") else ""


def complaint(census: Census) -> str:
    """What is wrong, node by node, and what to do."""
    sentences = []
    if census.missing:
        sentences.append(
            f"Slurm does not know {compact(census.missing)}: run site.yml with the inventory that names it."
        )
    faulty = census.unfit + census.held
    if faulty:
        said = "; ".join(f"{node.name} is {node.state}{_because(node)}" for node in faulty)
        sentences.append(f"Slurm cannot use every node: {said}.")
        sentences.append("A node comes back when its slurmd answers.")
    drained = compact(node.name for node in faulty if node.state.startswith("drain"))
    if drained:
        sentences.append(f"A drained one also needs 'scontrol update nodename={drained} state=resume'.")
    if census.left_by_rolling:
        left = compact(node.name for node in census.left_by_rolling)
        sentences.append(f"{left} is still drained by a rolling.yml that did not finish: run it again.")
    return " ".join(sentences)

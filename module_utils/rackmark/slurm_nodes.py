"""What sinfo says of nodes."""

from __future__ import annotations

from dataclasses import dataclass

SINFO_FORMAT = "%N|%T|%u|%E"  # name, state, who gave the reason, reason

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
        return self.state.startswith(_HELD) and self.reason_by not in ("slurm", "Unknown")


def parse_sinfo(output: str) -> dict[str, NodeState]:
    rows = (line.split("|", 3) for line in output.splitlines() if line.count("|") >= 3)
    return {name: NodeState(name, state, reason_by.strip(), reason.strip()) for name, state, reason_by, reason in rows}

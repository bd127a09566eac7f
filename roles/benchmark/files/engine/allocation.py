"""A job where it runs: its nodes, its folder and what it was asked to do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from rackmark.node.job_record import JobRecord

HOSTFILE = "hostfile"


@dataclass(frozen=True)
class Allocation:
    """`number` tells this job from others on the same machines."""

    number: str
    folder: Path
    nodes: Sequence[str]
    record: JobRecord

    @property
    def processes(self) -> range:
        return range(self.record.world_size)

    def node_of(self, process: int) -> str:
        return self.nodes[process // self.record.processes_per_node]

    def name_of(self, process: int) -> str:
        title = "the program" if self.record.ranks == "job" else f"rank {process}"
        return f"{title} on {self.node_of(process)}"

    def hostfile(self) -> str:
        """For programs that start processes on the nodes by themselves."""
        return "".join(f"{node} slots={self.record.devices_per_node}\n" for node in self.nodes)


def job_number() -> str:
    return os.environ.get("SLURM_JOB_ID") or os.environ.get("RACKMARK_JOB_ID") or str(os.getpid())


def log_of(process: int | str) -> str:
    return f"rank-{process}.log"


def exit_of(process: int) -> str:
    return f"rank-{process}.exit"

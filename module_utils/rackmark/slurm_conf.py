"""The parts of slurm.conf that follow from the machines themselves."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Mapping

from .hostlist import compact

# Slurm drains a node that has less memory than promised, and kernels differ by some megabytes from boot to boot.
MEMORY_SHARE = 0.95


@dataclass(frozen=True, order=True)
class Hardware:
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_mb: int

    @classmethod
    def of(cls, name: str, facts: Mapping[str, Any]) -> Hardware:
        try:
            sockets = int(facts["processor_count"])
            threads = int(facts["processor_threads_per_core"])
            cores = int(facts["processor_nproc"]) // (sockets * threads) or 1
            return cls(sockets, cores, threads, int(facts["memtotal_mb"] * MEMORY_SHARE))
        except KeyError as error:
            raise ValueError(
                f"The hardware of {name} is not known (no fact {error}): run site.yml once without --limit,"
                " or with --limit that includes it."
            ) from error

    def text(self) -> str:
        return (
            f"Sockets={self.sockets} CoresPerSocket={self.cores_per_socket}"
            f" ThreadsPerCore={self.threads_per_core} RealMemory={self.memory_mb}"
        )


def node_lines(facts_by_name: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One NodeName line for all hosts of the same hardware."""
    alike: dict[Hardware, list[str]] = defaultdict(list)
    for name, facts in facts_by_name.items():
        alike[Hardware.of(name, facts)].append(name)
    return [f"NodeName={compact(names)} {hardware.text()} State=UNKNOWN" for hardware, names in sorted(alike.items())]

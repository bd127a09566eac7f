"""Whether jobs can be confined by a host's cgroups: asked of the host, and judged for all nodes together."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping

from .hostlist import compact

MOUNTS = Path("/proc/self/mounts")
# What Slurm makes groups of: of version 1 each has a folder of its own, of version 2 they are named in a file.
NEEDED_1 = ("freezer", "cpuset", "memory", "devices")
NEEDED_2 = ("cpu", "cpuset", "memory")
_UNIFIED = "/sys/fs/cgroup"


def may_write(folder: str) -> bool:
    """Read-only mounts refuse root, too; others are not asked for more than that."""
    if os.geteuid() == 0:
        return os.access(folder, os.W_OK)
    return not os.statvfs(folder).f_flag & os.ST_RDONLY


def _controllers(folder: str) -> list[str]:
    return Path(folder, "cgroup.controllers").read_text().split()


def facts(
    mounts: str | None = None,
    writable: Callable[[str], bool] = may_write,
    controllers: Callable[[str], list[str]] = _controllers,
) -> dict[str, Any]:
    """The version that Slurm would use, 0 for none, and what keeps it from that, None for nothing."""
    rows = [line.split() for line in (MOUNTS.read_text() if mounts is None else mounts).splitlines()]
    of_version_1 = {
        name: place for _, place, kind, options, *_ in rows if kind == "cgroup" for name in options.split(",")
    }
    if any(place == _UNIFIED and kind == "cgroup2" for _, place, kind, *_ in rows):
        lacking = [name for name in NEEDED_2 if name not in controllers(_UNIFIED)]
        read_only = [] if writable(_UNIFIED) else [_UNIFIED]
        version = 2
    else:
        lacking = [name for name in NEEDED_1 if name not in of_version_1]
        read_only = [place for name, place in of_version_1.items() if name in NEEDED_1 and not writable(place)]
        version = 1 if len(lacking) < len(NEEDED_1) else 0
    fault: str | None = None
    if not version:
        fault = "no cgroups are mounted"
    elif lacking:
        fault = f"cgroups have no controller {', '.join(lacking)}"
    elif read_only:
        fault = f"cgroups are read-only ({min(read_only)})"
    return {"version": version, "fault": fault}


def unconfined(hosts: Mapping[str, Mapping[str, Any]], knows_version_2: bool) -> str:
    """Why jobs cannot be confined on all of these hosts; empty where they can."""
    by_fault: dict[str, list[str]] = defaultdict(list)
    for name, host in hosts.items():
        # A host that was last asked by an earlier version said nothing of this, and has what its release boots with.
        seen = host.get("ansible_facts", {}).get("cgroups", {"version": 2, "fault": None})
        fault = seen["fault"]
        if not fault and seen["version"] == 2 and not knows_version_2:
            fault = "Slurm of this release does not know cgroup version 2"
        if fault:
            by_fault[str(fault)].append(name)
    return "; ".join(f"on {compact(names)} {fault}" for fault, names in _by_names(by_fault))


def _by_names(by_fault: Mapping[str, list[str]]) -> Iterable[tuple[str, list[str]]]:
    return sorted(by_fault.items(), key=lambda item: item[1][0])

"""Filters for what Prometheus reads."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.monitoring import targets


def prometheus_targets(
    hostvars: Mapping[str, Any], names: Iterable[str], controllers: Iterable[str], monitoring_servers: Iterable[str]
) -> targets.Targets:
    """What Prometheus scrapes of these hosts, by job."""
    hosts = {name: hostvars[name] for name in names}  # each look into hostvars takes time
    return targets.targets(hosts, controllers, monitoring_servers)


def prometheus_target_files(found: targets.Targets) -> list[dict[str, str]]:
    """The files that Prometheus watches, for host_files."""
    return [
        {"path": f"/etc/prometheus/targets/{job}.json", "content": json.dumps(entries, indent=1) + "\n"}
        for job, entries in found.items()
    ]


def folders_to(path: str) -> list[str]:
    """A path and the folders above it, the longest first."""
    return [str(Path(path)), *map(str, Path(path).parents)]


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "address_to_reach": targets.address_to_reach,
            "folders_to": folders_to,
            "prometheus_target_files": prometheus_target_files,
            "prometheus_targets": prometheus_targets,
        }

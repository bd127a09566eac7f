"""Whether two services of a host would listen on the same port."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Collection, Iterator, Mapping

# Of services that have no option for it; that of SSH is ansible_port.
_FIXED = {
    "slurm_controller": {"slurmctld": 6817},
    "slurm_compute": {"slurmd": 6818},
    "slurm_database": {"slurmdbd": 6819, "MariaDB": 3306},
    "nfs_server": {"NFS": 2049},
}
_EVERYWHERE = ("node_exporter_port",)
_OF_DEVICES = {"own": "accelerator_exporter_port", "dcgm": "dcgm_exporter_port"}
_OF_GROUPS = {
    "slurm_controller": ("slurm_exporter_port",),
    "monitoring_server": ("prometheus_port", "alertmanager_port"),
}
GRAFANA_SOURCES = ("grafana_repository", "grafana_package", "grafana_archive")
# What decides which services a host has, and where they listen.
VARIABLES = frozenset(
    (
        *_EVERYWHERE,
        *_OF_DEVICES.values(),
        *(port for ports in _OF_GROUPS.values() for port in ports),
        *("accelerator_exporter_nvidia", "grafana_port", *GRAFANA_SOURCES),
    )
)


def shared(
    host: str, ssh_port: str, variables: Mapping[str, Any], groups: Mapping[str, Collection[str]]
) -> Iterator[tuple[int, list[str]]]:
    """Ports of the host that more than one has, with the names of these."""
    taken = defaultdict(list)
    if not groups.get("monitoring_server"):
        return
    for name in _options(host, variables, groups):
        if str(variables.get(name, "")).isdecimal():
            taken[int(variables[name])].append(name)
    for group, services in _FIXED.items():
        for service, port in services.items() if host in groups.get(group, ()) else ():
            taken[port].append(service)
    if ssh_port.isdecimal():
        taken[int(ssh_port)].append("SSH")
    yield from ((port, names) for port, names in sorted(taken.items()) if len(names) > 1)


def _options(host: str, variables: Mapping[str, Any], groups: Mapping[str, Collection[str]]) -> list[str]:
    options = [
        *_EVERYWHERE,
        *(port for group in _OF_GROUPS for port in _OF_GROUPS[group] if host in groups.get(group, ())),
    ]
    if variables.get("cluster_accelerator") != "none" and host in {
        *groups.get("slurm_compute", ()),
        *groups.get("docker_hosts", ()),
    }:
        options.append(_OF_DEVICES["own"])
        if variables.get("accelerator_exporter_nvidia") == "dcgm":
            options[-1] = _OF_DEVICES["dcgm"]
    if host in groups.get("monitoring_server", ()) and any(variables.get(name) for name in GRAFANA_SOURCES):
        options.append("grafana_port")
    return options

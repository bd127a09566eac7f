"""What Prometheus scrapes, as the inventory has it."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple

from ..node.vendors import VENDORS

Targets = Dict[str, List[Dict[str, Any]]]


class Exporter(NamedTuple):
    """Where a job's exporter listens, unless a host says otherwise with `port_variable`."""

    port_variable: str
    port: int


EXPORTERS = {
    "node": Exporter("node_exporter_port", 9100),
    "accelerator": Exporter("accelerator_exporter_port", 9401),
    "dcgm": Exporter("dcgm_exporter_port", 9400),
    "slurm": Exporter("slurm_exporter_port", 9402),
    "prometheus": Exporter("prometheus_port", 9090),
    "alertmanager": Exporter("alertmanager_port", 9093),
}
# These listen on loopback and are scraped by the host that they are on.
_LISTENS_ON = {"prometheus": "prometheus_listen_address", "alertmanager": "alertmanager_listen_address"}


def targets(
    hosts: Mapping[str, Mapping[str, Any]], controllers: Iterable[str], monitoring_servers: Iterable[str]
) -> Targets:
    """For every job the list that its file for Prometheus holds, empty where no host has such an exporter."""
    own = {"slurm": set(controllers), "prometheus": set(monitoring_servers), "alertmanager": set(monitoring_servers)}
    found: Targets = {job: [] for job in EXPORTERS}
    for name in sorted(hosts):
        host = hosts[name]
        jobs = {"node", *(job for job, members in own.items() if name in members)} | _device_jobs(host)
        for job in jobs:
            found[job].append({"targets": [_address(job, name, host)], "labels": {"instance": name}})
    return found


def _device_jobs(host: Mapping[str, Any]) -> set[str]:
    vendor = host.get("ansible_facts", {}).get("accelerators", {}).get("vendor")
    if vendor not in VENDORS:
        return set()
    return {"dcgm" if vendor == "nvidia" and host.get("accelerator_exporter_nvidia") == "dcgm" else "accelerator"}


def _address(job: str, name: str, host: Mapping[str, Any]) -> str:
    variable, usual = EXPORTERS[job]
    port = int(host.get(variable, usual))
    if job in _LISTENS_ON:
        return address_to_reach(str(host.get(_LISTENS_ON[job], "127.0.0.1")), port)
    return _joined(str(host.get("ansible_host", name)), port)


def address_to_reach(listens_on: str, port: int) -> str:
    """Where something on the same host that listens on this address is reached."""
    return _joined("127.0.0.1" if listens_on in ("", "0.0.0.0", "::", "[::]") else listens_on, port)


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address and not address.startswith("[") else f"{address}:{port}"

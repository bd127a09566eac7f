"""Whether hosts, groups and cluster-wide variables together make a cluster."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Collection, Iterable, Iterator, Mapping

from .. import firewall, hostlist
from ..host_names import is_address
from . import device_addresses, folders, partitions, ports
from .addresses import LAST_PORT, is_port
from .problems import Problems, shown

# How many hosts a group can have.
GROUPS: dict[str, int | None] = {
    "slurm_controller": 2,
    "slurm_database": 1,
    "slurm_compute": None,
    "slurm_login": None,
    "nfs_server": 1,
    "nfs_clients": None,
    "docker_hosts": None,
    "monitoring_server": 1,
}
SLURM_GROUPS = ("slurm_controller", "slurm_compute", "slurm_login")
# What may differ from host to host; every other cluster_ variable holds for the whole cluster.
OF_A_HOST = ("cluster_accelerator", "cluster_devices_per_node", "cluster_simulated", "cluster_notes")
# Variables of roles that are looked at here together with others, where they are set.
OF_ROLES = frozenset(
    ("slurm_partitions", "ascend_device_addresses", "nfs_directories", "firewall_ports", *folders.OF_SERVICES)
)
# The same with their defaults.
WITH_DEFAULTS = ports.VARIABLES
LOCAL_NAMES = ("localhost", "localhost.localdomain")
CLOSE = 0.8

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True)
class Host:
    name: str
    address: str | None
    port: str
    by_ssh: bool
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Those of the cluster and WITH_DEFAULTS, with their defaults, and those of OF_ROLES that are set."""

    def has_place(self) -> bool:
        return self.address is not None and is_address(self.address) and self.has_port()

    def has_port(self) -> bool:
        return is_port(self.port)

    def number_of_devices(self) -> int | None:
        text = str(self.variables.get("cluster_devices_per_node"))
        return int(text) if text.isdecimal() and text.isascii() else None


@dataclass(frozen=True)
class Cluster:
    hosts: Mapping[str, Host]
    groups: Mapping[str, Collection[str]]

    def members(self, *groups: str) -> list[str]:
        return sorted({name for group in groups for name in self.groups.get(group, ())})

    def one(self, variable: str) -> object:
        """A variable of the whole cluster: the same on every host, or a problem by itself."""
        return next((host.variables[variable] for host in self.hosts.values() if variable in host.variables), None)


def check(cluster: Cluster, problems: Problems) -> None:
    parts = (
        _groups,
        _names,
        _addresses,
        _cluster_variables,
        _controllers,
        _shared_storage,
        _devices,
        _partitions,
        _services,
    )
    for part in parts:
        part(cluster, problems)


def _groups(cluster: Cluster, problems: Problems) -> None:
    controllers, nodes = (len(cluster.members(group)) for group in ("slurm_controller", "slurm_compute"))
    if not controllers or not nodes:
        problems.add(
            f"The inventory has {controllers} hosts in slurm_controller and {nodes} in slurm_compute,"
            " both need one or more",
            'boot the virtual cluster with "ansible-playbook playbooks/lab_up.yml",'
            " or name your own inventory with -i.",
        )
    for group, most in GROUPS.items():
        if most and len(cluster.members(group)) > most:
            names = hostlist.compact(cluster.members(group))
            problems.add(f"{group} has {len(cluster.members(group))} hosts, {names}", f"leave {most} of them in it.")
    for group, members in cluster.groups.items():
        close = get_close_matches(group, GROUPS, 1, CLOSE)
        # A group of one's own below a known one, such as slurm_compute_a, is no mistake.
        if group not in GROUPS and close and not set(members) <= set(cluster.members(close[0])):
            problems.add(f"{group} is not a group that Rackmark knows", f"did you mean {close[0]}?", *members)


def _names(cluster: Cluster, problems: Problems) -> None:
    for name in cluster.hosts:
        if name in LOCAL_NAMES:
            fix = "take it out; name a machine that shall be part of the cluster by its own name, with its address."
            problems.add(f"{name} is a host of the inventory", fix)
        elif is_address(name) or not all(map(_LABEL.fullmatch, name.split("."))) or name.partition(".")[0].isdecimal():
            fix = "name it with small letters, digits and -, as in node-1, and put its address in ansible_host."
            problems.add(f"{name} cannot be the name of a host", fix)
    for short, names in _repeated((name.partition(".")[0], name) for name in cluster.hosts):
        problems.add(
            f"{' and '.join(names)} have the same short name {short}",
            "rename one: Slurm knows hosts by the short name.",
        )


def _addresses(cluster: Cluster, problems: Problems) -> None:
    by_ssh = [host for host in cluster.hosts.values() if host.by_ssh and host.name not in LOCAL_NAMES]
    for host in by_ssh:
        fix = "give it an IP address: hosts find each other by these, without DNS."
        if host.address is None:
            problems.add("ansible_host is missing", fix, host.name)
        elif not is_address(host.address):
            problems.add(f"ansible_host is {shown(host.address)}", fix, host.name)
        elif ipaddress.ip_address(host.address).version != 4:
            fix = "use the host's IPv4 address: Rackmark sets Slurm up for IPv4 alone."
            problems.add(f"ansible_host is the IPv6 address {host.address}", fix, host.name)
        if not host.has_port():
            fix = f"use the number of the SSH server's port, 1 to {LAST_PORT}."
            problems.add(f"ansible_port is {shown(host.port)}", fix, host.name)
    addresses = ((f"{host.address}, port {host.port}", host.name) for host in by_ssh if host.address)
    for address, names in _repeated(addresses):
        problems.add(f"{' and '.join(names)} have the same address {address}", "correct ansible_host of one.")


def _cluster_variables(cluster: Cluster, problems: Problems) -> None:
    values: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for host in cluster.hosts.values():
        for name, value in host.variables.items():
            if name.startswith("cluster_"):
                values[name][str(value)].append(host.name)
    for name, of_hosts in values.items():
        if len(of_hosts) > 1 and name not in OF_A_HOST:
            each = " and ".join(f"{value} on {hostlist.compact(hosts)}" for value, hosts in sorted(of_hosts.items()))
            problems.add(f"{name} is {each}", "give it one value: it holds for the whole cluster.")
    leaving = cluster.one("cluster_leaving")
    for name in leaving if isinstance(leaving, list) else []:
        if str(name) not in cluster.hosts:
            close = get_close_matches(str(name), cluster.hosts, 1)
            fix = f"did you mean {close[0]}?" if close else "take it out of the list."
            problems.add(f"cluster_leaving has {shown(name)}, which is not in the inventory", fix)


def _controllers(cluster: Cluster, problems: Problems) -> None:
    controllers = cluster.members("slurm_controller")
    if len(controllers) == 2 and not any(cluster.hosts[name].variables.get("slurm_state_dir") for name in controllers):
        problems.add(
            f"slurm_controller has two hosts, {hostlist.compact(controllers)}, and slurm_state_dir is not set",
            "set it to a folder that both share, so that the second is the backup of the first; or leave one of them.",
        )


def _shared_storage(cluster: Cluster, problems: Problems) -> None:
    storage = cluster.one("cluster_shared_storage")
    server = cluster.members("nfs_server")
    if storage == "existing" and server:
        problems.add(
            f"nfs_server is {hostlist.compact(server)} and cluster_shared_storage is 'existing'",
            "set cluster_shared_storage to nfs, or empty the group.",
        )
    elif storage == "nfs" and not server:
        problems.add(
            "cluster_shared_storage is 'nfs' and nfs_server has no host",
            "put the host in it that exports the folder, or set cluster_shared_storage to existing.",
        )
    elif storage == "nfs":
        without = set(cluster.members(*SLURM_GROUPS)) - {*server, *cluster.members("nfs_clients")}
        if without:
            fix = "put them in: with cluster_shared_storage 'nfs' every host of Slurm mounts the folder."
            problems.add(f"nfs_clients lacks {hostlist.compact(without)}", fix)
    for name in server if storage == "nfs" else []:
        _exports(cluster, name, problems)


def _exports(cluster: Cluster, server: str, problems: Problems) -> None:
    given = cluster.hosts[server].variables.get("nfs_directories")
    if not isinstance(given, list):
        return
    shared, folders = str(cluster.one("cluster_shared_dir")).rstrip("/"), [str(folder).rstrip("/") for folder in given]
    for folder, count in Counter(folders).items():
        if count > 1:
            problems.add(f"nfs_directories has {folder} {count} times", "leave it in once.", server)
    if not any(f"{shared}/".startswith(f"{folder}/") for folder in folders):
        problems.add(f"nfs_directories lacks cluster_shared_dir, {shared}", "add it, or what it lies in.", server)


def _devices(cluster: Cluster, problems: Problems) -> None:
    for host in cluster.hosts.values():
        addresses, devices = host.variables.get("ascend_device_addresses"), host.number_of_devices()
        if isinstance(addresses, list) and addresses and devices is not None and len(addresses) != devices:
            what = f"ascend_device_addresses has {len(addresses)} addresses and cluster_devices_per_node is {devices}"
            problems.add(what, "give one address for every device.", host.name)
    for what, fix, name in device_addresses.faults(
        {host.name: host.variables.get("ascend_device_addresses") for host in cluster.hosts.values()}
    ):
        problems.add(what, fix, name)


def _partitions(cluster: Cluster, problems: Problems) -> None:
    """The first controller writes them."""
    controllers = cluster.members("slurm_controller")
    given = cluster.hosts[controllers[0]].variables.get("slurm_partitions") if controllers else None
    leaving = cluster.one("cluster_leaving")
    if isinstance(given, list):
        groups = {**cluster.groups, "all": list(cluster.hosts)}
        for what, fix in partitions.faults(given, groups, leaving if isinstance(leaving, list) else []):
            problems.add(what, fix)


def _services(cluster: Cluster, problems: Problems) -> None:
    for host in cluster.hosts.values():
        for what, fix in folders.faults(host.variables):
            problems.add(what, fix, host.name)
        closed = host.variables.get("firewall_ports")
        if isinstance(closed, list) and host.has_port() and firewall.includes(closed, int(host.port)):
            problems.add(f"firewall_ports has {host.port}, by which Ansible logs in", "leave it out.", host.name)
        for port, names in ports.shared(host.name, host.port, host.variables, cluster.groups):
            problems.add(f"{' and '.join(names)} have the same port {port}", "give each a port of its own.", host.name)
    for name in cluster.members("monitoring_server"):
        sources = {source: cluster.hosts[name].variables.get(source) for source in ports.GRAFANA_SOURCES}
        given = {source: value for source, value in sources.items() if isinstance(value, dict) and value}
        if len(given) > 1:
            problems.add(f"{' and '.join(given)} are set", "leave one: Grafana can come from one place.", name)
        for source, value in given.items():
            if source != "grafana_repository" and not {"file", "url"} & set(value):
                problems.add(f"{source} has neither file nor url", "give one of them.", name)


def _repeated(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """What several hosts have in common, with their names."""
    names_of = defaultdict(list)
    for key, name in pairs:
        names_of[key].append(name)
    return ((key, sorted(names)) for key, names in names_of.items() if len(names) > 1)

"""The parts of Slurm's configuration that follow from the machines themselves."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import Any, Iterable, Mapping

from . import host_names
from .hostlist import compact, in_order
from .inventory_check.cluster import GROUPS
from .node.vendors import GRES, NONE, VENDORS

# Kernels of machines alike differ by some megabytes; a lost memory module is more.
MEMORY_TOLERANCE = 0.03

# Groups that say what a host does. Other groups say what it is: hosts in the same ones have the same hardware.
FEATURE_GROUPS = {"all", "ungrouped", *GROUPS}


@dataclass(frozen=True, order=True)
class Devices:
    vendor: str = NONE
    count: int = 0

    @classmethod
    def of(cls, host: Mapping[str, Any]) -> Devices:
        """Declared by cluster_accelerator and cluster_devices_per_node, or detected where these say auto."""
        seen = host.get("ansible_facts", {}).get("accelerators", {})
        declared = host.get("cluster_accelerator", "auto")
        vendor = seen.get("vendor", NONE) if declared == "auto" else declared
        number = host.get("cluster_devices_per_node", "auto")
        count = _whole(seen.get("count", 0), host) if str(number) == "auto" else int(number)
        return cls(vendor, count) if vendor in VENDORS and count else cls()

    def text(self) -> str:
        return f"{GRES}:{self.vendor}:{self.count}" if self.count else ""


def _whole(said: object, host: Mapping[str, Any]) -> int:
    """A fact is what its host says, and becomes a line of slurm.conf."""
    if not str(said).isdecimal():
        name = host.get("inventory_hostname", "A host")
        raise ValueError(f"{name} says that it has {said!r} devices, which is no number: run site.yml on it again.")
    return int(str(said))


NO_DEVICES = Devices()


@dataclass(frozen=True, order=True)
class Hardware:
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_mb: int
    devices: Devices = NO_DEVICES
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, name: str, host: Mapping[str, Any]) -> Hardware:
        facts = host.get("ansible_facts", {})
        try:
            sockets = int(facts["processor_count"])
            threads = int(facts["processor_threads_per_core"])
            cores = int(facts["processor_nproc"]) // (sockets * threads) or 1
            options = tuple(sorted((key, str(value)) for key, value in host.get("slurm_node_options", {}).items()))
            return cls(sockets, cores, threads, int(facts["memtotal_mb"]), Devices.of(host), options)
        except KeyError as error:
            raise ValueError(
                f"The hardware of {name} is not known (no fact {error}): run site.yml once without --limit,"
                " or with --limit that includes it."
            ) from error

    def is_like(self, other: Hardware) -> bool:
        close = abs(self.memory_mb - other.memory_mb) <= MEMORY_TOLERANCE * other.memory_mb
        return close and replace(self, memory_mb=0, options=()) == replace(other, memory_mb=0, options=())

    def text(self) -> str:
        words = {
            "Sockets": self.sockets,
            "CoresPerSocket": self.cores_per_socket,
            "ThreadsPerCore": self.threads_per_core,
            "RealMemory": self.memory_mb,
            "Gres": self.devices.text(),
            **dict(self.options),
        }
        return " ".join(f"{key}={value}" for key, value in words.items() if value != "")

    def described(self) -> str:
        devices = f", {self.devices.count} {self.devices.vendor} devices" if self.devices.count else ""
        sizes = f"{self.sockets}x{self.cores_per_socket}x{self.threads_per_core} CPUs, {self.memory_mb} MB"
        return sizes + devices


def hardware_groups(hosts: Mapping[str, Mapping[str, Any]], memory_percent: int) -> dict[Hardware, list[str]]:
    """Hosts by the hardware that Slurm is told of; a host unlike the others of its groups is refused."""
    by_groups: dict[tuple[str, ...], dict[str, Hardware]] = defaultdict(dict)
    for name, host in hosts.items():
        by_groups[tuple(sorted(set(host.get("group_names", [])) - FEATURE_GROUPS))][name] = Hardware.of(name, host)
    alike: dict[Hardware, list[str]] = defaultdict(list)
    for groups, members in sorted(by_groups.items()):
        _refuse_odd_ones(groups, members)
        # Slurm drains a node that has less memory than promised.
        promised = min(hardware.memory_mb for hardware in members.values()) * memory_percent // 100
        for name, hardware in members.items():
            alike[replace(hardware, memory_mb=promised)].append(name)
    return dict(sorted(alike.items()))


def _refuse_odd_ones(groups: Iterable[str], members: Mapping[str, Hardware]) -> None:
    usual = Counter(members.values()).most_common(1)[0][0]
    like = [name for name, hardware in members.items() if hardware.is_like(usual)]
    odd = {name: hardware for name, hardware in members.items() if name not in like}
    if odd:
        said = "; ".join(f"{name} has {hardware.described()}" for name, hardware in sorted(odd.items()))
        where = f"group {', '.join(groups)}" if list(groups) else "slurm_compute"
        raise ValueError(
            f"Hosts of {where} are not alike: {said}; {compact(like)} has {usual.described()}."
            " Mend the odd ones, or put them in a group of their own below slurm_compute."
        )


def node_lines(hosts: Mapping[str, Mapping[str, Any]], memory_percent: int = 95) -> list[str]:
    """One NodeName line for all hosts of the same hardware."""
    lines = []
    own_names = host_names.own_names(hosts)
    for hardware, names in hardware_groups(hosts, memory_percent).items():
        own = [name for name in names if own_names[name] == host_names.short(name)]
        renamed = sorted(set(names) - set(own))
        if own:
            lines.append(f"NodeName={compact(own)} {hardware.text()} State=UNKNOWN")
        if renamed:
            real = in_order(own_names[name] for name in renamed)
            known = in_order(renamed)
            lines.append(f"NodeName={known} NodeHostname={real} NodeAddr={known} {hardware.text()} State=UNKNOWN")
    return lines


def controller_word(name: str, host: Mapping[str, Any]) -> str:
    """A SlurmctldHost: the machine's own name, and the name at which the cluster reaches it where that is another."""
    hostname = host_names.own_names({name: host})[name]
    return name if hostname == name else f"{hostname}({name})"


def gres_lines(hosts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One line of gres.conf for all hosts with the same devices."""
    alike: dict[Devices, list[str]] = defaultdict(list)
    for name, host in hosts.items():
        alike[Devices.of(host)].append(name)
    lines = []
    for devices, names in sorted(alike.items()):
        if devices.count:
            numbers = f"[0-{devices.count - 1}]" if devices.count > 1 else "0"
            files = f"/dev/{VENDORS[devices.vendor].device_prefix}{numbers}"
            lines.append(f"NodeName={compact(names)} Name={GRES} Type={devices.vendor} File={files}")
    return lines

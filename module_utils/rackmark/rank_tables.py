"""Which servers a rank table has: hosts as the inventory knows them, or as they say themselves; what to show of it."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Sequence, TypedDict

from . import hostlist
from .host_names import is_address
from .node import hccn
from .node.rank_table import Device, RankTableError, Server, Table

_ADDRESSES = "ascend_device_addresses"
_MOST_LINES = 64
_KINDS = {
    "1.0": "the one that all frameworks read",
    "1.2": "for super pods",
    "lab": "for MindSpore up to 0.5",
    "tensorflow": "for TensorFlow on the Ascend 910",
}


class Told(TypedDict):
    """What is known of a host's devices, by their numbers."""

    name: str
    address: str
    devices: dict[str, str]
    super_pod: str
    super_ids: dict[str, str]
    problems: list[str]


def hosts_with_devices(hostvars: Mapping[str, Mapping[str, Any]], names: Iterable[str]) -> list[str]:
    """Those that have Ascend devices by the inventory's word, in its order."""
    return [
        name
        for name in names
        if hostvars[name].get(_ADDRESSES) or hostvars[name].get("cluster_accelerator") == "ascend"
    ]


def told_by_inventory(hostvars: Mapping[str, Mapping[str, Any]], names: Iterable[str]) -> list[Told]:
    return [_by_inventory(name, hostvars[name]) for name in names]


def told_by_nodes(hostvars: Mapping[str, Mapping[str, Any]], names: Iterable[str], register: str) -> list[Told]:
    """By the results of the module ascend_device_addresses, which hosts that were not reached do not have."""
    return [_by_node(_by_inventory(name, hostvars[name]), hostvars[name].get(register, {})) for name in names]


def _by_inventory(name: str, variables: Mapping[str, Any]) -> Told:
    addresses, problems = {}, []
    for number, entry in enumerate(variables.get(_ADDRESSES) or []):
        try:
            addresses[str(number)] = hccn.settings(entry)[0].values["address"]
        except ValueError as error:
            problems.append(f"{name}, device {number}: {error}.")
    if not addresses and not problems:
        problems.append(
            f"{name} has no {_ADDRESSES}: give one for each device, or ask the devices themselves with -e source=nodes."
        )
    host = str(variables.get("ansible_host", name))
    return Told(
        name=name,
        address=host if is_address(host) else "",
        devices=addresses,
        super_pod="",
        super_ids={},
        problems=problems,
    )


def _by_node(inventory: Told, result: Mapping[str, Any]) -> Told:
    """The node's own word, held against the inventory's where that has addresses."""
    name = inventory["name"]
    if "devices" not in result:
        problems = [f"{name} did not say the addresses of its devices: see above why it could not be asked."]
        return Told(name=name, address="", devices={}, super_pod="", super_ids={}, problems=problems)
    devices, wanted = dict(result["devices"]), inventory["devices"]
    problems = [f"{name}: {sentence}." for sentence in result["problems"]]
    problems += [
        f"{name}: device {number} says {devices[number]} and {_ADDRESSES} has {wanted[number]}:"
        " run site.yml --tags ascend, or correct the inventory."
        for number in sorted(devices.keys() & wanted.keys(), key=int)
        if devices[number] not in ("", wanted[number])
    ]
    if not devices:
        problems.append(f"{name} has no Ascend device that says its address: is the driver installed?")
    return Told(
        name=name,
        address=inventory["address"],
        devices=devices,
        super_pod=result["super_pod"],
        super_ids=dict(result["super_ids"]),
        problems=problems,
    )


def servers_of(form: str, hosts: Sequence[Told], devices: str) -> list[Server]:
    """With all devices of the hosts, or those that `devices` names, as in 0-3 or 0,2."""
    problems = [problem for host in hosts for problem in host["problems"]]
    wanted = _numbers(devices)
    for host in hosts:
        outside = [number for number in wanted if str(number) not in host["devices"]]
        if outside and host["devices"]:
            problems.append(
                f"{host['name']} has devices {_ranges(map(int, host['devices']))}, and devices={devices} names"
                f" {_ranges(outside)} besides: name devices that every node has."
            )
    if form == "1.2" and hosts and not any(host["super_ids"] for host in hosts):
        problems.append(
            "Form 1.2 needs the place of each device in its super pod, and nothing here tells it: ask the nodes of one"
            " with -e source=nodes, where npu-smi knows it, and use form 1.0 for nodes that are in none."
        )
    if problems:
        raise RankTableError(" ".join(problems))
    return [_server(host, wanted or sorted(map(int, host["devices"]))) for host in hosts]


def _numbers(devices: str) -> list[int]:
    if not devices:
        return []
    try:
        return sorted(int(number) for number in hostlist.expand(f"[{devices}]"))
    except ValueError as error:
        raise RankTableError(f"devices={devices} is not a list of devices: write one like 0-7 or 0,2.") from error


def _server(host: Told, numbers: Sequence[int]) -> Server:
    devices = [
        Device(number, host["devices"][str(number)], host["super_ids"].get(str(number), "")) for number in numbers
    ]
    return Server(host["name"], host["address"], devices, host["super_pod"])


def overview(table: Table, names: Sequence[str] = ()) -> list[str]:
    """For a terminal. `names` are those of the nodes, where the table has others."""
    if table.form is None:
        return []
    count = sum(len(server.devices) for server in table.servers)
    lines = [
        f"Form {table.form}, {_KINDS[table.form]}: {_many(len(table.servers), 'server')}, {_many(count, 'device')}."
    ]
    rank = 0
    for index, server in enumerate(table.servers):
        own = names[index] if names else server.name
        label = own if own == server.name else f"{own} ({server.name})"
        pod = f", super pod {server.super_pod}" if server.super_pod else ""
        last = rank + len(server.devices) - 1
        ranks = f"rank {rank}" if last == rank else f"ranks {rank} to {last}"
        lines.append(f"{label}: {ranks}, devices {_ranges(device.number for device in server.devices)}{pod}")
        rank = last + 1
    if len(lines) > _MOST_LINES + 1:
        lines[_MOST_LINES:] = [f"... and {len(lines) - _MOST_LINES:,} servers more"]
    return lines


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _ranges(numbers: Iterable[int]) -> str:
    """As in 0-3,6."""
    return hostlist.compact(str(number) for number in numbers).strip("[]")

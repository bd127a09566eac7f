"""Writes the rank table of a job."""

from __future__ import annotations

import json
from typing import Any, Iterator, Sequence

from .rank_table_model import FORMS, RankTableError, Server
from .rank_table_rules import OLD_FORMS, against_910, problems_of, shown

_DIGITS = 4
_REFUSED = {
    "2.0": "Form 2.0 is that of Ascend 950, which needs the topology file of its driver besides.",
    "global": "The form with server_group_list is written by MindCluster for its serving, not for HCCL.",
}


def written(form: str, servers: Sequence[Server]) -> str:
    """The file for these servers. Rank 0 is the first device of the first one."""
    if form not in FORMS:
        known = ", ".join(FORMS[:-1])
        raise RankTableError(f"{_REFUSED.get(form, f'Form {shown(form)} is unknown.')} Use {known} or {FORMS[-1]}.")
    problems = [*problems_of(form, servers), *(_problems(form, servers) if servers else ())]
    if problems:
        raise RankTableError(" ".join(problems))
    return json.dumps(_TABLES[form](servers), indent=2) + "\n"


def _problems(form: str, servers: Sequence[Server]) -> Iterator[str]:
    for server in servers:
        for device in server.devices:
            if not device.address:
                yield (
                    f"{shown(server.name)}: the address of device {device.number} is not known:"
                    " give ascend_device_addresses and run site.yml --tags ascend."
                )
        if form in OLD_FORMS:
            yield from filter(None, [against_910(server)])
    for server in servers[1:]:
        if len(server.devices) != len(servers[0].devices):
            yield (
                f"{shown(server.name)} has {len(server.devices)} device addresses and {shown(servers[0].name)} has"
                f" {len(servers[0].devices)}: use the same number of devices on every node."
            )
    if form == "1.2" and not any(server.super_pod for server in servers):
        yield f"{shown(servers[0].name)} is in no super pod, which form 1.2 is for: use 1.0."
    if form in OLD_FORMS:
        yield from _of_old_names(servers)


def _of_old_names(servers: Sequence[Server]) -> Iterator[str]:
    """These forms name servers by their addresses, by which MindSpore and TensorFlow's HCCL sort them: as texts."""
    addresses = [server.address for server in servers]
    nameless = [shown(server.name) for server in servers if not server.address]
    if nameless:
        yield f"{', '.join(nameless)}: the address of the node is not known, by which this form names it."
    owners: dict[str, Server] = {}
    for server in servers:
        if server.address and server is not owners.setdefault(server.address, server):
            both = f"{shown(owners[server.address].name)} and {shown(server.name)}"
            yield f"{both} have the same address {shown(server.address)}, by which this form names them: use form 1.0."
    for before, after in zip(servers, servers[1:]):
        if before.address > after.address:
            yield (
                f"HCCL sorts servers by address as text, and {after.address} ({shown(after.name)}) comes before"
                f" {before.address} ({shown(before.name)}) there: use form 1.0, or name the nodes in the order"
                f" {', '.join(sorted(addresses)[:8])}{' ...' if len(addresses) > 8 else ''}."
            )
            return


def _with_version(version: str, servers: Sequence[Server]) -> dict[str, Any]:
    ids = _ids(len(servers))
    rank = iter(range(sum(len(server.devices) for server in servers)))
    return {
        "version": version,
        "server_count": str(len(servers)),
        "server_list": [
            {
                "server_id": ids[index],
                "device": [
                    {
                        "device_id": str(device.number),
                        "device_ip": device.address,
                        **({"super_device_id": device.super_id} if version == "1.2" else {}),
                        "rank_id": str(next(rank)),
                    }
                    for device in server.devices
                ],
                "host_nic_ip": "reserve",
            }
            for index, server in enumerate(servers)
        ],
        **({"super_pod_list": _super_pods(ids, servers)} if version == "1.2" else {}),
        "status": "completed",
    }


def _ids(count: int) -> list[str]:
    """Texts that sort like numbers: MindSpore wants the servers in the order of their names."""
    digits = max(_DIGITS, len(str(count - 1)))
    return [f"node_{index:0{digits}d}" for index in range(count)]


def _super_pods(ids: Sequence[str], servers: Sequence[Server]) -> list[dict[str, Any]]:
    pods: dict[str, list[dict[str, str]]] = {}
    for own, server in zip(ids, servers):
        pods.setdefault(server.super_pod, []).append({"server_id": own})
    return [{"super_pod_id": pod, "server_list": members} for pod, members in pods.items()]


def _for_mindspore(servers: Sequence[Server]) -> dict[str, Any]:
    """The form of MindSpore up to 0.5: one instance per device."""
    places = [(server, device) for server in servers for device in server.devices]
    cards = [f"eth{number}" for number in range(max(len(server.devices) for server in servers))]
    group = {
        "device_num": str(len(places)),
        "server_num": str(len(servers)),
        "group_name": "",
        "instance_count": str(len(places)),
        "instance_list": [
            {
                "devices": [{"device_id": str(device.number), "device_ip": device.address}],
                "rank_id": str(rank),
                "server_id": server.address,
            }
            for rank, (server, device) in enumerate(places)
        ],
    }
    return {
        "board_id": "0x0020",
        "chip_info": "910",
        "deploy_mode": "lab",
        "group_count": "1",
        "group_list": [group],
        "para_plane_nic_location": "device",
        "para_plane_nic_name": cards,
        "para_plane_nic_num": str(len(cards)),
        "status": "completed",
    }


def _for_tensorflow(servers: Sequence[Server]) -> dict[str, Any]:
    """The form without ranks: HCCL numbers the devices, and a process says its pod_name in RANK_ID."""
    group = {
        "group_name": "hccl_world_group",
        "device_count": str(sum(len(server.devices) for server in servers)),
        "instance_count": str(len(servers)),
        "instance_list": [
            {
                "pod_name": server.name,
                "server_id": server.address,
                "devices": [
                    {"device_id": str(device.number), "device_ip": device.address} for device in server.devices
                ],
            }
            for server in servers
        ],
    }
    return {"status": "completed", "group_count": "1", "group_list": [group]}


_TABLES = {
    "1.0": lambda servers: _with_version("1.0", servers),
    "1.2": lambda servers: _with_version("1.2", servers),
    "lab": _for_mindspore,
    "tensorflow": _for_tensorflow,
}

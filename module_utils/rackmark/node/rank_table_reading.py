"""Reads anybody's rank table, and says all that HCCL would refuse it for."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Sequence

from .rank_table_entries import Notes, Place, counted, places_of, servers_by_rank
from .rank_table_model import Device, Server, Table
from .rank_table_rules import OLD_FORMS, addresses_of, against_910, listed, of, problems_of, shown

_UNREADABLE = "This file is no JSON"


def read(text: str) -> Table:
    """What the text says, and every problem with it; it never raises."""
    notes = Notes()
    try:
        content = json.loads(text, object_pairs_hook=notes.without_doubles)
    except (ValueError, RecursionError) as error:
        return Table(None, [], [_unreadable(text, error)], [])
    form, problem = form_of(content)
    if form is None:
        return Table(None, [], [*notes.problems, problem], [])
    _check_status(content, notes)
    servers = _READERS[form](content, form, notes)
    if servers or not notes.problems:
        notes.problems += problems_of(form, servers)
    _look_for_addresses(form, servers, notes)
    _remark(form, servers, notes)
    return Table(form, servers, list(dict.fromkeys(notes.problems)), list(dict.fromkeys(notes.remarks)))


def form_of(content: object) -> tuple[str | None, str]:
    """The form, or the sentence that says why it is none of them. HCCL looks for the same keys."""
    if not isinstance(content, dict):
        return None, f"A rank table is a JSON object with server_list or group_list, and this is {_kind(content)}."
    if "server_group_list" in content:
        return None, (
            "This table has server_group_list: MindCluster writes it for its serving, and HCCL does not read it."
            " Each of its groups has a server_list, of which a table of form 1.0 or 1.2 can be made."
        )
    version = content.get("version")
    if version == "2.0" or "rank_list" in content:
        return None, (
            "This table has form 2.0 (rank_list), that of Ascend 950, which needs the topology file of its driver"
            " besides: Rackmark knows 1.0 and 1.2, and the older lab and tensorflow."
        )
    if "server_list" in content or "version" in content:
        if version in ("1.0", "1.2"):
            return version, ""
        says = "is missing" if version is None else f"is {json.dumps(version)[:40]}"
        return None, f'version {says}: write "1.0", or "1.2" for super pods.'
    if "group_list" in content:
        return ("lab" if "deploy_mode" in content else "tensorflow"), ""
    return None, "This is no rank table: it has neither server_list nor group_list."


def _unreadable(text: str, error: Exception) -> str:
    if not text.strip():
        return "The file is empty."
    if not isinstance(error, json.JSONDecodeError):
        return f"{_UNREADABLE} that can be read: {type(error).__name__}: {shown(str(error))}."
    line = text.splitlines()[error.lineno - 1 : error.lineno]
    if line and line[0][error.colno - 1 :].lstrip(" ,").startswith(("//", "#", "/*")):
        return f"{_UNREADABLE}: line {error.lineno} has a comment, as examples in documents do; take all of them out."
    return f"{_UNREADABLE}: {error.msg} in line {error.lineno}, column {error.colno}."


def _kind(content: object) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(content), "null")


def _check_status(content: dict[str, Any], notes: Notes) -> None:
    status = notes.text(content, "status", "the table")
    if status is not None and status != "completed":
        notes.problem(
            f'status is {shown(status)}: HCCL waits until it is "completed", which whoever makes the table writes last.'
        )


def _with_version(content: dict[str, Any], form: str, notes: Notes) -> list[Server]:
    entries = notes.entries(content, "server_list", "the table")
    if "server_count" in content or form == "1.0":
        counted(content, "server_count", len(entries), "server_list has {} servers", "the table", notes)
    places, names = [], []
    for index, entry in enumerate(entries):
        where = f"server {index + 1} of server_list"
        name = notes.text(entry, "server_id", where) or where
        names.append(name)
        places += places_of(entry, "device", name, notes, with_super_id=form == "1.2")
    with_host = [shown(name) for name, entry in zip(names, entries) if "host_ip" in entry]
    if with_host:
        notes.remark(
            f"host_ip is there for {listed(with_host)}: older releases of HCCL then use the host's network cards,"
            " and newer ones need it for HCCL_OP_RETRY_ENABLE alone. Leave it out unless you set that."
        )
    for name, count in Counter(names).items():
        if count > 1:
            notes.problem(f"server_id {shown(name)} is there {count} times: give each server one of its own.")
    pods = _super_pods(content, names, notes) if form == "1.2" else {}
    return servers_by_rank(names, places, pods, notes)


def _super_pods(content: dict[str, Any], known: Sequence[str], notes: Notes) -> dict[str, str]:
    """The pod of each server."""
    if "super_pod_list" not in content:
        notes.remark("The table has no super_pod_list: HCCL takes the servers as they are, without super pods.")
        return {}
    found: dict[str, str] = {}
    names = set(known)
    pods: list[str] = []
    for index, pod in enumerate(notes.entries(content, "super_pod_list", "the table")):
        where = f"super pod {index + 1}"
        own = notes.text(pod, "super_pod_id", where)
        if own in pods:
            notes.problem(f"super_pod_id {shown(own)} is there twice: put its servers into one entry.")
        pods.append(own or where)
        for member in notes.entries(pod, "server_list", where):
            name = notes.text(member, "server_id", f"a server of {where}")
            if name is not None and name not in names:
                notes.problem(f"{where} has server {shown(name)}, which is not in server_list.")
            elif name in found:
                notes.problem(f"{shown(name)} is in super_pod_list twice: a server is in one super pod.")
            elif name is not None:
                found[name] = own or where
    return found


def _for_mindspore(content: dict[str, Any], form: str, notes: Notes) -> list[Server]:
    for key in ("deploy_mode", "board_id", "chip_info"):
        notes.text(content, key, "the table")
    place = notes.text(content, "para_plane_nic_location", "the table")
    if place not in (None, "device"):
        notes.problem(f'para_plane_nic_location is {shown(str(place))}: write "device", whose network HCCL uses.')
    cards = content.get("para_plane_nic_name")
    if not isinstance(cards, list) or not cards or not all(isinstance(card, str) and card for card in cards):
        notes.problem(
            'para_plane_nic_name is no list of names: write ["eth0"], with a name for each device of a server.'
        )
    else:
        counted(content, "para_plane_nic_num", len(cards), "para_plane_nic_name has {} names", "the table", notes)
    places: list[Place] = []
    for group, where in _groups(content, notes):
        instances = notes.entries(group, "instance_list", where)
        own = [place for index, instance in enumerate(instances) for place in _instance(index, instance, notes)]
        counted(group, "instance_count", len(instances), "lists {} instances", where, notes)
        counted(group, "device_num", len(own), "lists {} devices", where, notes)
        servers = len({place.server for place in own})
        counted(group, "server_num", servers, "its instances are on {} servers", where, notes)
        places += own
    return _alike(servers_by_rank([place.server for place in places], places, {}, notes), notes)


def _instance(index: int, instance: dict[str, Any], notes: Notes) -> list[Place]:
    where = f"instance {index + 1}"
    name = notes.text(instance, "server_id", where) or where
    rank = notes.number(instance, "rank_id", where)
    places = places_of(instance, "devices", name, notes, with_rank=False)
    if len(places) > 1:
        notes.problem(f"{where} has {len(places)} devices: in this form each has one.")
    return [place._replace(rank=rank) for place in places]


def _alike(servers: list[Server], notes: Notes) -> list[Server]:
    if len({len(server.devices) for server in servers}) > 1:
        several = [f"{shown(server.name)} has {len(server.devices)}" for server in servers]
        notes.problem(f"In this form all servers have the same number of devices, and {listed(several)}.")
    return servers


def _for_tensorflow(content: dict[str, Any], form: str, notes: Notes) -> list[Server]:
    servers = []
    for group, where in _groups(content, notes):
        instances = notes.entries(group, "instance_list", where)
        counted(group, "instance_count", len(instances), "lists {} instances", where, notes)
        devices = 0
        for index, instance in enumerate(instances):
            own = f"instance {index + 1}"
            pod = notes.text(instance, "pod_name", own) or own
            server = notes.text(instance, "server_id", own) or own
            places = places_of(instance, "devices", pod, notes, with_rank=False)
            devices += len(places)
            servers.append(Server(pod, server, sorted(place.device for place in places if place.device)))
        counted(group, "device_count", devices, "lists {} devices", where, notes)
    ordered = sorted(servers, key=lambda server: (server.address, min(server.devices, default=Device(0, ""))))
    for first, there in zip(ordered, servers):
        if first != there:
            notes.remark(
                f"HCCL numbers the devices by server_id as text, in which {shown(first.address)} ({shown(first.name)})"
                f" comes before {shown(there.address)} ({shown(there.name)}), other than in the file."
            )
            break
    return ordered


def _groups(content: dict[str, Any], notes: Notes) -> list[tuple[dict[str, Any], str]]:
    groups = notes.entries(content, "group_list", "the table")
    counted(content, "group_count", len(groups), "group_list has {} groups", "the table", notes)
    for index, group in enumerate(groups):
        if not isinstance(group.get("group_name"), str):
            notes.problem(f'group_name of group {index + 1} is missing: write "hccl_world_group", or "".')
    names = [str(group.get("group_name")) for group in groups]
    for name in sorted({name for name in names if names.count(name) > 1}):
        notes.problem(f"group_name {shown(name)} is there {names.count(name)} times: give each group one of its own.")
    return [(group, "the group" if len(groups) == 1 else f"group {index + 1}") for index, group in enumerate(groups)]


def _look_for_addresses(form: str, servers: Sequence[Server], notes: Notes) -> None:
    """One server alone needs none but on a 910, nor do the servers of one super pod."""
    missing = [of(device, server) for server in servers for device in server.devices if not addresses_of(form, device)]
    if not missing:
        return
    pods = {server.super_pod for server in servers}
    says = f"device_ip of {listed(missing)} is missing"
    if form in OLD_FORMS or (len(servers) > 1 and (len(pods) > 1 or not all(pods))):
        notes.problem(f"{says}: hccn_tool -i 0 -ip -g says that of device 0.")
    else:
        notes.remark(f"{says}: only an Ascend 910 needs it here.")


def _remark(form: str, servers: Sequence[Server], notes: Notes) -> None:
    for before, after in zip(servers, servers[1:]):
        if before.address > after.address:
            notes.remark(
                f"The ranks do not follow the order of server_id as text, in which {shown(after.address)} comes before"
                f" {shown(before.address)}: MindSpore demands that order on several servers."
            )
            break
    if form != "1.2":  # which no 910 reads
        notes.remarks += filter(None, map(against_910, servers))
    counts = {len(server.devices) for server in servers}
    if form != "lab" and len(counts) > 1:
        several = [f"{shown(server.name)} has {len(server.devices)}" for server in servers]
        notes.remark(
            f"The servers differ in their number of devices, which not every release takes: {listed(several)}."
        )


_READERS = {"1.0": _with_version, "1.2": _with_version, "lab": _for_mindspore, "tensorflow": _for_tensorflow}

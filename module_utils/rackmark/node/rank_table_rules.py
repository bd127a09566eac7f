"""What HCCL asks of the servers and devices of a rank table, whoever wrote it. Every rule gives sentences."""

from __future__ import annotations

import ipaddress
import re
from typing import Iterator, Sequence

from .rank_table_model import Device, Server

OLD_FORMS = ("lab", "tensorflow")  # for the Ascend 910 alone
LONGEST_NAME = 64
_LONGEST_SHOWN = 80
_HALF = 4
_COUNTS = (1, 2, 4)
_NUMBER = re.compile(r"[0-9]{1,10}")


def problems_of(form: str, servers: Sequence[Server]) -> list[str]:
    """Without addresses that are missing: where they may be left out depends on more."""
    return [
        *_of_names(form, servers),
        *_of_numbers(form, servers),
        *_of_addresses(form, servers),
        *(_of_super_pods(servers) if form == "1.2" else ()),
    ]


def of(device: Device, server: Server) -> str:
    return f"device {device.number} of {shown(server.name)}"


def shown(text: str) -> str:
    """As it is, or escaped and cut where a terminal could not show it."""
    if text and text.isprintable() and len(text) <= _LONGEST_SHOWN:
        return text
    return ascii(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")


def listed(values: Sequence[object], most: int = 8) -> str:
    """The first ones, and how many there are besides."""
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(map(str, values[:most])) + more


def against_910(server: Server) -> str | None:
    """What speaks against these devices on an Ascend 910, which has 8 in two rings of four. The form says no chip."""
    numbers = sorted({device.number for device in server.devices})
    if not numbers or numbers[-1] >= 2 * _HALF or len(numbers) == 2 * _HALF:
        return None
    several = f"{shown(server.name)}: devices {', '.join(map(str, numbers))}"
    if numbers[0] < _HALF <= numbers[-1]:
        return f"{several} are in both halves of an Ascend 910: take all 8, or devices of 0 to 3 or of 4 to 7 alone."
    if len(numbers) not in _COUNTS:
        return f"{several} are {len(numbers)}, and an Ascend 910 trains with 1, 2, 4 or 8 of a server."
    return None


def _of_names(form: str, servers: Sequence[Server]) -> Iterator[str]:
    if not servers:
        yield "The table has no servers: name at least one."
    names = "pod_name" if form == "tensorflow" else "server_id"
    for name, owners in _twice([(server.name, server.name) for server in servers]):
        yield f"{names} {shown(name)} is there {len(owners)} times: give each server one of its own."
    for server in servers:
        for text in dict.fromkeys((server.name, server.address)):
            if len(text) > LONGEST_NAME:
                yield f"{shown(text)} has {len(text)} characters, and HCCL takes at most {LONGEST_NAME}: shorten it."
        if not server.devices:
            yield f"{shown(server.name)} has no devices: give it some, or leave it out."


def _of_numbers(form: str, servers: Sequence[Server]) -> Iterator[str]:
    highest = 7 if form in OLD_FORMS else 15
    for server in servers:
        for device in server.devices:
            if not 0 <= device.number <= highest:
                yield (
                    f"device_id {device.number} of {shown(server.name)} is above {highest}:"
                    " use the physical number, as in /dev/davinci0."
                )
    # Containers of one server are instances of their own in the form of TensorFlow, and share its devices out.
    owners = [
        (f"device_id {device.number} of {shown(server.address if form == 'tensorflow' else server.name)}", "")
        for server in servers
        for device in server.devices
    ]
    for what, several in _twice(owners):
        yield f"{what} is there {len(several)} times: a device has one rank."


def _of_addresses(form: str, servers: Sequence[Server]) -> Iterator[str]:
    owners: list[tuple[str, str]] = []
    families: dict[int, str] = {}
    for server in servers:
        for device in server.devices:
            for text in addresses_of(form, device):
                try:
                    address = ipaddress.ip_address(text)
                except ValueError:
                    yield f"device_ip {shown(text)} of {of(device, server)} is no IP address: write it as 192.0.2.10."
                    continue
                owners.append((str(address), of(device, server)))
                families.setdefault(address.version, of(device, server))
    for shared, devices in _twice(owners):
        several = " and ".join(devices[:2]) if len(devices) == 2 else listed(devices)
        yield f"device_ip {shared} is that of {several}; each device has one of its own."
    if len(families) > 1:
        yield f"device_ip of {families[4]} is IPv4 and that of {families[6]} is IPv6: use one of the two for all."


def addresses_of(form: str, device: Device) -> list[str]:
    """None where the address is missing. The forms with a version take several, by commas."""
    if not device.address:
        return []
    return [device.address] if form in OLD_FORMS else device.address.split(",")


def _of_super_pods(servers: Sequence[Server]) -> Iterator[str]:
    """Of a table that has super pods; without any HCCL takes the servers as they are."""
    if not any(server.super_pod for server in servers):
        return
    owners = []
    for server in servers:
        if not server.super_pod:
            yield f"{shown(server.name)} is in no super pod, and others are: add it to super_pod_list."
        for device in server.devices:
            if _NUMBER.fullmatch(device.super_id):
                what = f"super_device_id {int(device.super_id)} in super pod {shown(server.super_pod)}"
                owners.append((what, of(device, server)))
            else:
                says = f"is {shown(device.super_id)}, which is no number" if device.super_id else "is missing"
                yield f"super_device_id of {of(device, server)} {says}: npu-smi calls it SDID."
    for what, devices in _twice(owners):
        yield f"{what} is that of {listed(devices)}; each device has one of its own."
    pods = [server.super_pod for server in servers]
    pieces = [pod for before, pod in zip(["", *pods], pods) if pod != before]
    for pod, _ in _twice([(pod, pod) for pod in pieces if pod]):
        yield (
            f"The ranks of super pod {shown(pod)} are mixed with those of another:"
            " put the servers of a super pod one after the other."
        )


def _twice(owners: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """What has several owners, with them."""
    found: dict[str, list[str]] = {}
    for key, owner in owners:
        found.setdefault(key, []).append(owner)
    return [(key, several) for key, several in found.items() if len(several) > 1]

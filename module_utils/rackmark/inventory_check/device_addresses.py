"""Whether the addresses of Ascend devices are each device's own, and can reach their gateway."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from typing import Iterator, Mapping, Tuple

# What is wrong, what to do, and the host.
Said = Tuple[str, str, str]


def faults(addresses: Mapping[str, object]) -> Iterator[Said]:
    """By host; what is no list of addresses is said elsewhere."""
    holders = defaultdict(list)
    for host, given in addresses.items():
        for number, device in enumerate(given if isinstance(given, list) else []):
            if isinstance(device, dict) and "address" in device:
                interface = ipaddress.IPv4Interface(str(device["address"]))
                holders[interface.ip].append((host, number))
                yield from _gateway(f"ascend_device_addresses[{number}]", interface, device.get("gateway"), host)
    for address, devices in holders.items():
        if len(devices) > 1:
            named = " and ".join(f"device {number} of {host}" for host, number in devices)
            yield f"{named} have the same address {address}", "give each device one of its own.", devices[0][0]


def _gateway(name: str, interface: ipaddress.IPv4Interface, gateway: object, host: str) -> Iterator[Said]:
    if gateway and ipaddress.IPv4Address(str(gateway)) not in interface.network:
        what = f"{name}.gateway is {gateway}, outside of the network {interface.network} of its address"
        yield what, "correct one of the two.", host

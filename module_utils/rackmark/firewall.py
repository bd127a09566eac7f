"""What the firewall's rules are made of: who belongs to the cluster, and which ports are the cluster's."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Callable, Iterable, Mapping


def members(hosts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Where the hosts of the cluster are reached, and come from."""
    found = {name: str(host.get("ansible_host", name)) for name, host in sorted(hosts.items())}
    for name, address in found.items():
        _network(address, f"ansible_host of {name}")
    return list(found.values())


def addresses(words: Iterable[Any]) -> dict[str, list[str]]:
    """Addresses and networks by version of IP and without overlaps, as nft wants them."""
    networks = [_network(str(word), "firewall_trusted") for word in words]
    four = ipaddress.collapse_addresses(n for n in networks if isinstance(n, ipaddress.IPv4Network))
    six = ipaddress.collapse_addresses(n for n in networks if isinstance(n, ipaddress.IPv6Network))
    return {"4": [_text(network) for network in four], "6": [_text(network) for network in six]}


def ports(wanted: Iterable[Any], ssh: Iterable[Any]) -> list[str]:
    """Ports and ranges such as 6817-6820, in order and without overlaps. Those of sshd are nobody's to close."""
    ranges = sorted(_range(str(word)) for word in wanted)
    for port in map(int, ssh):
        if any(first <= port <= last for first, last in ranges):
            raise ValueError(f"firewall_ports has {port}, by which Ansible logs in: leave it out.")
    merged: list[tuple[int, int]] = []
    for first, last in ranges:
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return [str(first) if first == last else f"{first}-{last}" for first, last in merged]


def includes(words: Iterable[Any], port: int) -> bool:
    return any(first <= port <= last for first, last in map(_range, map(str, words)))


def is_network(word: str) -> bool:
    return _is_fine(_network, word, "")


def is_port_range(word: str) -> bool:
    return _is_fine(_range, word)


def _is_fine(read: Callable[..., object], *words: str) -> bool:
    try:
        read(*words)
    except ValueError:
        return False
    return True


def _network(word: str, where: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(word, strict=False)
    except ValueError as error:
        raise ValueError(
            f"{where} is '{word}', and the firewall needs addresses: use one such as 192.0.2.7, or a network such as"
            " 192.0.2.0/24."
        ) from error


def _text(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> str:
    return str(network.network_address) if network.num_addresses == 1 else str(network)


def _range(word: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", word)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 0 < first <= last < 65536:
        raise ValueError(f"'{word}' is no port: use a number from 1 to 65535, or a range such as 6817-6820.")
    return first, last

"""Which addresses, ports and URLs can be used for what."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from .. import firewall

LAST_PORT = 65535

_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")


def is_ipv4(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def is_listening_address(text: str) -> bool:
    """0.0.0.0 stands for all; the rest of its network, and what is reserved, is no host's."""
    if not is_ipv4(text):
        return False
    address = ipaddress.IPv4Address(text)
    return text == "0.0.0.0" or not (address.is_multicast or address.is_reserved or text.startswith("0."))


def is_interface(text: str) -> bool:
    """An address of a host, with its network's length."""
    try:
        interface = ipaddress.IPv4Interface(text)
    except ValueError:
        return False
    network = interface.network
    ends = (network.network_address, network.broadcast_address) if network.prefixlen < 31 else ()
    return "/" in text and network.prefixlen > 0 and interface.ip not in ends


def is_large_network(text: str) -> bool:
    try:
        return "/" in text and ipaddress.IPv4Network(text).prefixlen <= 24
    except ValueError:
        return False


def is_some_network(text: str) -> bool:
    """Whoever trusts every address has no need of a firewall."""
    return firewall.is_network(text) and ipaddress.ip_network(text, strict=False).prefixlen > 0


def is_port(text: str, lowest: int = 1) -> bool:
    return re.fullmatch(r"[1-9][0-9]{0,4}", text) is not None and lowest <= int(text) <= LAST_PORT


def is_host_and_port(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return _HOST.fullmatch(host) is not None and is_port(port)


def is_url(text: str, schemes: str) -> bool:
    """Schemes is a pattern, as https?://. The path is left to whoever answers there."""
    if re.fullmatch(rf"""(?:{schemes})[^\s"'\\<>`]+""", text) is None:
        return False
    try:
        parts = urlsplit(text)
        return parts.path.strip("/") != "" if parts.scheme == "file" else _has_host(parts)
    except ValueError:
        return False


def _has_host(parts: SplitResult) -> bool:
    """An @ within a password has to be written as %40."""
    if parts.netloc.count("@") > 1:
        return False
    place = parts.netloc.rpartition("@")[2]
    host, _, port = place.partition("]" if place.startswith("[") else ":")
    if place.startswith("["):
        ipaddress.IPv6Address(host[1:])
        return not port or is_port(port[1:])
    return _HOST.fullmatch(host) is not None and (is_port(port) if ":" in place else True)

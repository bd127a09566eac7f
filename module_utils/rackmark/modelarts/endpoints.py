"""Addresses of the cloud's services, as the operator gives them."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def wrong_endpoint(name: str, url: str) -> str:
    """Why the address of this variable cannot be used; empty for one that can."""
    try:
        address = urlsplit(url)
        host, _ = address.hostname, address.port
    except ValueError:
        return f"{name} is '{url}', which is no address: give one such as https://obs.cn-north-4.myhuaweicloud.com."
    if address.scheme not in ("http", "https") or not host:
        return (
            f"{name} is '{url}', which lacks https:// in front of the host: write https://{url.strip('/') or 'HOST'}."
        )
    if address.username or address.password or address.query or address.fragment or address.path.strip("/"):
        return f"{name} has more than a host and a port: give {address.scheme}://{host} alone."
    if address.scheme == "http" and not is_loopback(host):
        return f"{name} is '{url}', which would send everything unencrypted: write https://{host}."
    return ""


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

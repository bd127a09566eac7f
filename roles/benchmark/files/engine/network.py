"""Where ranks meet, and over which interface they talk."""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from pathlib import Path
from typing import Sequence

_SIOCGIFCONF = 0x8912
_IFREQ_BYTES = 40
_MOST_ADDRESSES = 1024
_LOWEST_PORT = 20000
_FEWEST_PORTS = 1000
_SSH_PORT = 22
_SECONDS_TO_ANSWER = 5.0
_SCATTER = 7919  # a prime: jobs with numbers side by side get ports far apart


def free_port(job_number: int) -> int:
    """A port that is free on this machine, below those that the kernel gives to connections."""
    ephemeral = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = range(_LOWEST_PORT, max(ephemeral, _LOWEST_PORT + _FEWEST_PORTS))
    for attempt in range(len(ports)):
        port = ports[(job_number * _SCATTER + attempt) % len(ports)]
        if _is_free(port):
            return port
    raise OSError(f"None of the ports {ports[0]} to {ports[-1]} is free on {socket.gethostname()}.")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def answering_nodes(names: Sequence[str]) -> list[str]:
    """Those that answer at all: one that refuses a connection is alive."""
    from concurrent.futures import ThreadPoolExecutor  # every rank imports this module, and none needs threads

    with ThreadPoolExecutor(max_workers=64) as pool:
        return [name for name, answers in zip(names, pool.map(_answers, names)) if answers]


def _answers(name: str) -> bool:
    try:
        socket.create_connection((name, _SSH_PORT), _SECONDS_TO_ANSWER).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return True


def address_of(name: str, peer: str) -> str | None:
    """The address that a node's own name leads to.

    Where hosts call themselves 127.0.1.1, it is the one that leads to `peer`: ranks elsewhere cannot reach a loopback.
    """
    address = _resolve(name)
    if address is None or (address.startswith("127.") and name != peer):
        address = _source_address(peer)
    return address


def interface_towards(name: str, peer: str) -> str | None:
    address = address_of(name, peer)
    return None if address is None else _interfaces().get(address)


def _resolve(name: str) -> str | None:
    try:
        return str(socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
    except OSError:
        return None


def _source_address(peer: str) -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((peer, 9))  # nothing is sent
        except OSError:
            return None
        return str(probe.getsockname()[0])


def _interfaces() -> dict[str, str]:
    """Interfaces by IPv4 address."""
    entries = array.array("B", bytes(_MOST_ADDRESSES * _IFREQ_BYTES))
    location, length = entries.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        answer = fcntl.ioctl(probe, _SIOCGIFCONF, struct.pack("iL", length, location))
    filled = struct.unpack("iL", answer)[0]
    found: dict[str, str] = {}
    for start in range(0, filled, _IFREQ_BYTES):
        entry = entries[start : start + _IFREQ_BYTES].tobytes()
        name = entry[:16].split(b"\0", 1)[0].decode().partition(":")[0]  # an address can have a label, as in eth0:1
        found.setdefault(socket.inet_ntoa(entry[20:24]), name)
    return found

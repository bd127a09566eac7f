"""Kinds of values that options have, each with the words that say what to use instead of a wrong one."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Callable

from .. import firewall, munge, password_rules
from ..credentials import has_credentials
from . import paths


@dataclass(frozen=True)
class Kind:
    words: str
    """Completes "use ..."."""
    accepts: Callable[[str], bool]


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def _rule(rule: password_rules.Rule) -> Kind:
    return Kind(rule.words, rule.accepts)


def is_one_line(text: str) -> bool:
    return text.isprintable() or text.replace("\t", " ").isprintable()


def is_ipv4(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def _is_listening_address(text: str) -> bool:
    return is_ipv4(text) and not ipaddress.IPv4Address(text).is_multicast


def _is_interface(text: str) -> bool:
    try:
        ipaddress.IPv4Interface(text)
    except ValueError:
        return False
    return "/" in text


def _is_port(text: str, lowest: int) -> bool:
    return re.fullmatch(r"\d{1,5}", text) is not None and lowest <= int(text) <= 65535


def _is_url(text: str, schemes: str) -> bool:
    return re.fullmatch(rf"""(?:{schemes})[^\s"'\\<>/][^\s"'\\<>]*""", text) is not None


def _is_memory(text: str) -> bool:
    """As systemd writes it; 128 MB at least, since a service with less never starts."""
    found = re.fullmatch(r"(\d{1,6})(%|[KMGT]?)", text)
    if not found:
        return False
    if found[2] == "%":
        return 1 <= int(found[1]) <= 100
    return int(found[1]) * 1024.0 ** " KMGT".index(found[2] or " ") >= 128 * 1024**2


def _is_key(text: str) -> bool:
    return text.startswith("-----BEGIN ") or paths.is_file_here(text)


_UNITS = r"(?=\d)(\d+y)?(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?"
_MORE_THAN_0 = r"(?=.*[1-9])"
# Users that the system or the services of a cluster have already.
_TAKEN = (
    "root|daemon|bin|sys|sync|games|man|lp|mail|news|uucp|proxy|www-data|backup|list|irc|gnats|nobody|_.*|systemd-.*"
    "|messagebus|sshd|munge|slurm|mysql|prometheus|grafana|rackmark-exporter|statd|dnsmasq|HwHiAiUser"
)

KINDS = {
    "any": Kind("anything", lambda text: True),
    "host": Kind("a host of the inventory", lambda text: bool(text)),  # which these are is said elsewhere
    # Text that ends up in a line of a file.
    "one_line": Kind("one line of text", lambda text: bool(text) and is_one_line(text)),
    "word": Kind("one word without quotes and commas", _matches(r"""[^\s"'\\,]+""")),
    "argument": Kind("text without spaces, quotes and backslashes", _matches(r"""[^\s"'\\]+""")),
    "apt_source": Kind(
        'a line that begins with "deb " or "deb-src "',
        lambda text: is_one_line(text) and text.startswith(("deb ", "deb-src ")),
    ),
    # Names.
    "cluster_name": Kind(
        "small letters, digits, - and _, as Slurm does in its accounting", _matches(r"[a-z0-9][a-z0-9_-]{0,62}")
    ),
    "partition": Kind("a name of letters, digits, -, _ and dots", _matches(r"(?i)(?!all$)[a-z0-9][a-z0-9._-]{0,62}")),
    "user": Kind(
        "the name of an unprivileged user that no service has, in small letters, as in rackmark",
        _matches(rf"(?!(?:{_TAKEN})$)[a-z_][a-z0-9_-]{{0,31}}"),
    ),
    "login": Kind("the name of a user", _matches(r"[A-Za-z_][A-Za-z0-9._@-]{0,63}")),
    "package": Kind(
        "the name of a package, or name=version", _matches(r"[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?(=[A-Za-z0-9.+~:-]+)?")
    ),
    "version": Kind("a version, as in 1.17.8-1", _matches(r"[A-Za-z0-9][A-Za-z0-9.+~:_-]*")),
    "sha256": Kind("the 64 hexadecimal digits that sha256sum prints", _matches(r"[0-9A-Fa-f]{64}")),
    # Addresses.
    "port": Kind("a port from 1024 to 65535", lambda text: _is_port(text, 1024)),
    "any_port": Kind("a port from 1 to 65535", lambda text: _is_port(text, 1)),
    "address": Kind("an IPv4 address of the host, or 0.0.0.0 for all that it has", _is_listening_address),
    "ipv4": Kind("an IPv4 address", is_ipv4),
    "network": Kind("an address or a network, as in 192.0.2.0/24", firewall.is_network),
    "port_range": Kind("a port, or a range of ports as in 8000-8010", firewall.is_port_range),
    "interface": Kind("an IPv4 address with the length of its network, as in 192.168.100.101/24", _is_interface),
    "host_and_port": Kind("a host and its port, as in mail.example.org:587", _matches(r"[A-Za-z0-9.-]+:\d{1,5}")),
    "url": Kind("a URL that begins with http:// or https://", lambda text: _is_url(text, "https?://")),
    "open_url": Kind(
        "a URL that begins with http:// or https:// and has no user and password",
        lambda text: _is_url(text, "https?://") and not has_credentials(text),
    ),
    "repository_url": Kind(
        "a URL that begins with http://, https:// or file:///", lambda text: _is_url(text, "https?://|file:///")
    ),
    "file_url": Kind(
        "a URL that begins with http://, https:// or file:/// and has no user and password",
        lambda text: _is_url(text, "https?://|file:///") and not has_credentials(text),
    ),
    "batch": Kind(
        "a whole number of nodes, at least 1, or a share of them from 1% to 100%",
        _matches(r"[1-9]\d{0,5}|([1-9]\d?|100)%"),
    ),
    "seconds": Kind("a number of seconds, 0 or more", _matches(r"\d{1,9}")),
    # Sizes and times in the words of the product that reads them.
    "duration": Kind("a time as Prometheus writes it, as in 90d or 1y", _matches(_MORE_THAN_0 + _UNITS)),
    "size": Kind("a size as Prometheus writes it, as in 500MB or 20GB", _matches(_MORE_THAN_0 + r"\d+([KMGTPE]?B)")),
    "memory": Kind("a size as systemd writes it, 128M or more, as in 4G or 50%", _is_memory),
    "docker_size": Kind("a size as Docker writes it, as in 50m or 32g", _matches(_MORE_THAN_0 + r"\d+[bkmgBKMG]?")),
    # Paths.
    "absolute_path": Kind(paths.ABSOLUTE, paths.is_absolute),
    "shared_folder": Kind(paths.SHARED_FOLDER, paths.is_shared_folder),
    "data_folder": Kind(paths.DATA_FOLDER, paths.is_data_folder),
    "file_here": Kind("the path of a file on the control machine", paths.is_file_here),
    "key": Kind(
        "an ASCII-armoured key (-----BEGIN ...), or the path of a file with one on the control machine", _is_key
    ),
    # Secrets.
    "munge_key": Kind(munge.RULE, munge.is_key),
    "monitoring_password": _rule(password_rules.MONITORING),
    "slurmdbd_password": _rule(password_rules.SLURMDBD),
    "grafana_password": _rule(password_rules.GRAFANA),
}

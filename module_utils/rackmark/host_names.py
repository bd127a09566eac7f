"""What machines call themselves. A machine may say what it likes: none gets a name that is another's."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from typing import Any, Iterable, Mapping

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_KEY_TYPE = re.compile(r"ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)")
_KEY = re.compile(r"[A-Za-z0-9+/]{20,2000}={0,3}")


def short(name: str) -> str:
    return name.partition(".")[0]


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def own_names(hosts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What each host calls itself, by its name in the inventory.

    It is the inventory's short name where that is no name at all, localhost, or the name of another host.
    """
    said = {name: str(host.get("ansible_facts", {}).get("hostname", short(name))) for name, host in hosts.items()}
    taken = {known for name in hosts for known in (name, short(name))} | {"localhost"}
    claims = Counter(said.values())
    return {
        name: own if _NAME.fullmatch(own) and own not in taken and claims[own] == 1 else short(name)
        for name, own in said.items()
    }


def fault_of_own_name(name: str, host: Mapping[str, Any], others: Iterable[str]) -> str | None:
    """Why a machine cannot be called what it calls itself; None where it can."""
    own = str(host.get("ansible_facts", {}).get("hostname", short(name)))
    known = {called: other for other in others if other != name for called in (other, short(other))}
    if not _NAME.fullmatch(own) or own == "localhost":
        said = "which cannot be the name of a host"
    elif own in known:
        said = f"which is the name of {known[own]}"
    else:
        return None
    return f"{name} calls itself {own!r}, {said}: run 'hostnamectl set-hostname {short(name)}' there."


def known_hosts_entry(facts: Mapping[str, Any]) -> str | None:
    """Type and key as ssh_known_hosts has them; None where the host has said nothing that could be a key."""
    for kind in ("ed25519", "ecdsa", "rsa"):
        key_type, key = (str(facts.get(f"ssh_host_key_{kind}_public{part}", "")) for part in ("_keytype", ""))
        if _KEY_TYPE.fullmatch(key_type) and _KEY.fullmatch(key):
            return f"{key_type} {key}"
    return None

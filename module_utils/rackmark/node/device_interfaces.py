"""What this node's Ascend devices say of their network, and what hccn.conf keeps of it."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Any

from .device_network import CONF, Answer, Interface, asked, differences, kept, kept_addresses, read_conf, said, tool
from .devices import device_files, number_of

_LINK = re.compile(r"link status\s*:\s*(\w+)", re.IGNORECASE)


def interfaces(folder: Path = Path("/dev"), conf: Path = CONF) -> dict[str, Any]:
    """`devices` in the order of their numbers; `problems` are sentences on what cannot be right on this node."""
    numbers = [number_of("ascend", path) for path in device_files("ascend", folder)]
    text = read_conf(conf)
    ip, gateway, link = (asked(numbers, option) for option in ("ip", "gateway", "link"))
    devices = [
        _device(number, said(ip[number], gateway[number]), kept(text).get(number), link[number]) for number in numbers
    ]
    if numbers and tool() is None:
        return {"devices": devices, "problems": ["there is no hccn_tool here; it comes with the Ascend driver"]}
    stale = differences(ip, kept_addresses(text), conf)
    named = {number for number in numbers if any(line.startswith(f"device {number} ") for line in stale)}
    silent = [
        f"device {number} tells no address ({_why(ip[number])})"
        for number in numbers
        if number not in named and said(ip[number]).address is None
    ]
    return {"devices": devices, "problems": stale + silent}


def _device(number: int, says: Interface, keeps: Interface | None, link: Answer) -> dict[str, Any]:
    """Its address is what it says itself: what the file keeps may be stale."""
    state = _LINK.search(link.text) if link.status == 0 else None
    return {
        "number": number,
        "address": says.address,
        "network": _network(says),
        "has_gateway": bool(says.gateway or (keeps and keeps.gateway)),
        "link": state[1].upper() if state else None,
    }


def _network(interface: Interface) -> str:
    try:
        return str(ipaddress.IPv4Network(f"{interface.address}/{interface.netmask}", strict=False))
    except ValueError:
        return ""


def _why(answer: Answer) -> str:
    if answer.status is None:
        return "hccn_tool gave no answer"
    if answer.is_busy:
        return "hccn_tool was busy"
    lines = answer.text.strip().splitlines()
    return f"hccn_tool said: {lines[-1].strip()[:200]}" if lines else "hccn_tool said nothing"

"""Network addresses of Ascend devices: as asked for, as hccn_tool says them, as /etc/hccn.conf keeps them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Iterable, Mapping, Sequence


@dataclass(frozen=True)
class Setting:
    """One thing that hccn_tool can ask and set, and its keys in hccn.conf."""

    option: str
    values: Mapping[str, str]  # by the word that hccn_tool's setting takes
    keys: Mapping[str, str]  # by the same word, without the device's number

    def as_said(self, answer: str) -> dict[str, str | None]:
        """Values in the tool's answer, such as 'ipaddr:192.0.2.1' or 'default gateway:192.0.2.1, Iface:eth0'."""
        return {word: _said(answer, word) for word in self.values}

    def asking(self, device: int) -> list[str]:
        return ["-i", str(device), f"-{self.option}", "-g"]

    def setting(self, device: int) -> list[str]:
        words = [part for word, value in self.values.items() for part in (word, value)]
        return ["-i", str(device), f"-{self.option}", "-s", *words]


def _said(answer: str, word: str) -> str | None:
    name = {"address": r"(?:ipaddr|address)"}.get(word, word)
    match = re.search(rf"{name}\s*:\s*([0-9.]+)", answer)
    return match[1] if match else None


def settings(entry: Mapping[str, object]) -> list[Setting]:
    """What one device is to have, from its entry in the inventory: address with prefix length, gateway, detect."""
    text = str(entry.get("address") or "")
    try:
        interface = ipaddress.IPv4Interface(text)
    except ValueError as error:
        raise ValueError(
            f"device address {text!r} is not an IPv4 address with its network: write it as 192.0.2.10/24"
        ) from error
    if "/" not in text:
        raise ValueError(f"device address {text!r} has no network: write it as {text}/24")
    found = [
        Setting(
            "ip",
            {"address": str(interface.ip), "netmask": str(interface.netmask)},
            {"address": "address", "netmask": "netmask"},
        )
    ]
    for option, word, key in (("gateway", "gateway", "gateway"), ("netdetect", "address", "netdetect")):
        name = "detect" if option == "netdetect" else option
        if entry.get(name):
            found.append(Setting(option, {word: _address(name, entry[name])}, {word: key}))
    return found


def _address(name: str, value: object) -> str:
    try:
        return str(ipaddress.IPv4Address(str(value)))
    except ValueError as error:
        raise ValueError(f"{name} {str(value)!r} of a device is not an IPv4 address") from error


def conf_values(devices: Iterable[Sequence[Setting]]) -> dict[str, str]:
    """Lines of hccn.conf, by key."""
    return {
        f"{setting.keys[word]}_{number}": value
        for number, device in enumerate(devices)
        for setting in device
        for word, value in setting.values.items()
    }


def merged_conf(text: str, values: Mapping[str, str]) -> str:
    """The file with these values; what else hccn_tool keeps in it stays, in its order."""
    left = dict(values)
    lines = []
    for line in text.splitlines():
        key = line.partition("=")[0].strip()
        if key in values and key not in left:
            continue  # a second line of the same key
        lines.append(f"{key}={left.pop(key)}" if key in left else line)
    lines += [f"{key}={value}" for key, value in left.items()]
    return "".join(f"{line}\n" for line in lines)


def problems(addresses: Mapping[str, Sequence[Mapping[str, object]]]) -> list[str]:
    """Why the device addresses of these hosts cannot work, a sentence each; none when they can."""
    found = []
    owners: dict[str, list[str]] = {}
    for host, entries in addresses.items():
        for number, entry in enumerate(entries):
            try:
                address = settings(entry)[0].values["address"]
            except ValueError as error:
                found.append(f"{host}, device {number}: {error}.")
            else:
                owners.setdefault(address, []).append(f"{host} device {number}")
    found += [
        f"Device address {address} is given to {' and '.join(names)}; each device needs one of its own."
        for address, names in owners.items()
        if len(names) > 1
    ]
    return found

"""Filters for the network between Ascend devices."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.ping_matrix.partners import Node, partners

_LEFT_OUT = {"msg": "--limit leaves it out"}


def device_partners(hostvars: Mapping[str, Any], names: Iterable[str], named: bool) -> dict[str, Any]:
    """Which devices of these hosts ping each other, from what each host registered as _device_interfaces."""
    hosts = {name: hostvars[name] for name in names}
    nodes = {
        name: Node(host.get("_device_interfaces", _LEFT_OUT), host.get("ascend_device_addresses") or [])
        for name, host in hosts.items()
    }
    return partners(nodes, named)._asdict()


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"device_partners": device_partners}

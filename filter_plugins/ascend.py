"""Filters for Ascend devices."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark import rank_tables
from rackmark.node import hccn


def ascend_address_problems(hostvars: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Why the device addresses that the inventory gives to these hosts cannot work, a sentence each."""
    return hccn.problems({name: hostvars[name].get("ascend_device_addresses") or [] for name in names})


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "ascend_address_problems": ascend_address_problems,
            "ascend_hosts": rank_tables.hosts_with_devices,
            "ascend_told_by_inventory": rank_tables.told_by_inventory,
            "ascend_told_by_nodes": rank_tables.told_by_nodes,
        }

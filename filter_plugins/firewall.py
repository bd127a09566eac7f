"""Filters for the firewall's rules."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping

from ansible.errors import AnsibleFilterError

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark import firewall


def _checked(shape: Callable[..., Any]) -> Callable[..., Any]:
    """A filter whose complaints are sentences."""

    def filtered(*words: Any) -> Any:  # noqa: ANN401 - whatever Ansible hands over
        try:
            return shape(*words)
        except ValueError as error:
            raise AnsibleFilterError(str(error)) from error

    return filtered


def firewall_members(hostvars: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Addresses of these hosts."""
    return firewall.members({name: hostvars[name] for name in names})


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "firewall_addresses": _checked(firewall.addresses),
            "firewall_members": _checked(firewall_members),
            "firewall_ports": _checked(firewall.ports),
        }

"""Filters that shape inventory data for templates."""

from __future__ import annotations

import ipaddress
import re
import shlex
import sys
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping

from ansible.errors import AnsibleFilterError

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark import hostlist, slurm_conf


def hosts_lines(hostvars: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Lines of /etc/hosts for every host of the inventory, by the address that Ansible reaches it at."""
    lines = []
    for name in sorted(names):
        address = str(hostvars[name].get("ansible_host", name))
        try:
            ipaddress.ip_address(address)
        except ValueError as error:
            raise AnsibleFilterError(
                f"{name} has no address: give it ansible_host with an IP address in the inventory"
                f" (now {address!r}); nodes find each other by these, without DNS."
            ) from error
        short = name.partition(".")[0]
        lines.append(f"{address} {name}" if short == name else f"{address} {name} {short}")
    return lines


def slurm_node_lines(hostvars: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    try:
        return slurm_conf.node_lines({name: hostvars[name].get("ansible_facts", {}) for name in names})
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


def typed_command(hidden: Iterable[str]) -> str:
    """The command line of this Ansible run; values of options whose name contains one of these words are not shown."""
    secret = re.compile(rf"(\w*(?:{'|'.join(hidden)})\w*)=\S+", re.IGNORECASE)
    words = [Path(sys.argv[0]).name, *(secret.sub(r"\1=***", word) for word in sys.argv[1:])]
    return shlex.join(words)


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "hostlist": hostlist.compact,
            "hosts_lines": hosts_lines,
            "slurm_node_lines": slurm_node_lines,
            "typed_command": typed_command,
        }

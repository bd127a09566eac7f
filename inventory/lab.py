#!/usr/bin/env python3
"""Inventory of the virtual cluster: the nodes that exist now, or none.

RACKMARK_LAB names the cluster ("lab" when unset), RACKMARK_STATE_DIR the folder where clusters live.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def hosts_of(directory: Path, record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "ansible_host": address,
            "ansible_user": "root",
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_ssh_private_key_file": str(directory / "key"),
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={directory}/known_hosts"
            " -o GlobalKnownHostsFile=/dev/null -o IdentitiesOnly=yes",
            # A connection kept open belongs to the node it leads to and is ended with it.
            "ansible_control_path": str(directory / "ssh" / name),
            # Said in every record of a run, as cluster_simulated of the whole virtual cluster is.
            **({"cluster_simulated": ["nodes", "accelerators"]} if name in record.get("accelerators", {}) else {}),
        }
        for name, address in record.get("nodes", {}).items()
    }


def groups_by_accelerator(accelerators: dict[str, str]) -> dict[str, dict[str, list[str]]]:
    """Nodes with the same devices, as in lab_nvidia_8: hosts of other hardware belong in groups of their own."""
    kinds = sorted(set(accelerators.values()))
    return {
        f"lab_{kind.replace(':', '_')}": {"hosts": [name for name, other in accelerators.items() if other == kind]}
        for kind in kinds
    }


def main() -> None:
    state = Path(os.environ.get("RACKMARK_STATE_DIR") or "/var/lib/rackmark")
    directory = state / "labs" / (os.environ.get("RACKMARK_LAB") or "lab")
    path = directory / "lab.json"
    record = json.loads(path.read_text()) if path.exists() else {}
    hosts = hosts_of(directory, record)
    groups = {
        "lab": {"children": ["lab_head", "lab_compute"], "vars": {"lab_node_cpu_share": record.get("cpu_share")}},
        "lab_head": {"hosts": [name for name in hosts if name == "head"]},
        "lab_compute": {"hosts": [name for name in hosts if name != "head"]},
        **groups_by_accelerator(record.get("accelerators", {})),
    }
    print(json.dumps({"_meta": {"hostvars": hosts}, **groups}))


if __name__ == "__main__":
    main()

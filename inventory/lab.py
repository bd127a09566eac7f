#!/usr/bin/env python3
"""Inventory of the virtual cluster: the nodes that exist now, or none.

RACKMARK_LAB names the cluster ("lab" when unset), RACKMARK_STATE_DIR the folder where clusters live.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def hosts_of(directory: Path) -> dict[str, dict[str, Any]]:
    record = directory / "lab.json"
    if not record.exists():
        return {}
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
        }
        for name, address in json.loads(record.read_text())["nodes"].items()
    }


def main() -> None:
    state = Path(os.environ.get("RACKMARK_STATE_DIR") or "/var/lib/rackmark")
    hosts = hosts_of(state / "labs" / (os.environ.get("RACKMARK_LAB") or "lab"))
    groups = {
        "lab": {"children": ["lab_head", "lab_compute"]},
        "lab_head": {"hosts": [name for name in hosts if name == "head"]},
        "lab_compute": {"hosts": [name for name in hosts if name != "head"]},
    }
    print(json.dumps({"_meta": {"hostvars": hosts}, **groups}))


if __name__ == "__main__":
    main()

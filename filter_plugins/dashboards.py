"""Filter for Grafana's dashboards."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark import dashboards


def rackmark_dashboards(cluster_name: str, shared_dir: str) -> dict[str, str]:
    """The JSON of every dashboard of this cluster by the name of its file."""
    return dashboards.files(str(cluster_name), str(shared_dir))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"rackmark_dashboards": rackmark_dashboards}

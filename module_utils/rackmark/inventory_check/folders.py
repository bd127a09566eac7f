"""Whether services have folders of their own: each gives its folder to its user, and closes it to others."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Iterator, Mapping, Tuple

OF_SERVICES = ("slurm_state_dir", "prometheus_storage_path", "alertmanager_storage_path", "docker_data_root")

# What is wrong, and what to do.
Said = Tuple[str, str]


def faults(variables: Mapping[str, Any]) -> Iterator[Said]:
    """Of the folders that are set for one host."""
    names_of = defaultdict(list)
    shared = str(variables.get("cluster_shared_dir", "")).rstrip("/")
    for name in OF_SERVICES:
        folder = str(variables.get(name) or "").rstrip("/")
        if folder and f"{shared}/".startswith(f"{folder}/"):
            yield (
                f"{name} is {folder}, and holds cluster_shared_dir",
                "give it a folder of its own, which others need not read.",
            )
        elif folder:
            names_of[folder].append(name)
    for folder, names in names_of.items():
        if len(names) > 1:
            yield f"{' and '.join(names)} are {folder}", "give each a folder of its own."

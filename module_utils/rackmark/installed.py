"""Where Rackmark lies, and what follows from that: in a clone, or as a collection that Ansible has installed."""

from __future__ import annotations

from pathlib import Path

COLLECTIONS = "ansible_collections"


def is_a_collection(root: Path) -> bool:
    """Whether this is .../ansible_collections/<namespace>/<name>."""
    return root.parent.parent.name == COLLECTIONS


def reports_folder(root: Path, here: Path) -> Path:
    """A clone keeps its reports; an installed collection is replaced by its next version, and is not everybody's."""
    return (here if is_a_collection(root) else root) / "reports"

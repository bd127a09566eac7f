"""Whether the folder of a job is the same on every node, can be written to, and by which clock its node lives."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

FOLDER = ".preflight"


def token_file(folder: Path) -> Path:
    return folder / FOLDER / "token"


def sign_of(folder: Path, index: str) -> Path:
    """What the node with this number leaves there, for the first node to read."""
    return folder / FOLDER / f"node-{index}"


def look_at_shared_folder(folder: Path, token: str, index: str, first_node: str) -> tuple[dict[str, Any], list[str]]:
    facts: dict[str, Any] = {"clock_against_storage": None}
    if not folder.is_dir():
        return facts, [f"The folder {folder} is missing. Mount the shared storage there."]
    try:
        seen = token_file(folder).read_text()
    except OSError:
        seen = None
    if seen != token:
        return facts, [
            f"{folder} is not the folder that {first_node} has under this name: what {first_node} wrote there cannot"
            " be read here. Mount the same shared storage on both."
        ]
    try:
        facts["clock_against_storage"] = _write_sign(sign_of(folder, index), token)
    except OSError as error:
        return facts, [f"{folder} cannot be written to ({error.strerror}) by the user with the id {os.getuid()}."]
    return facts, []


def _write_sign(path: Path, token: str) -> list[float]:
    """How far this node's clock is ahead of the storage's, in seconds: the least and the most it can be."""
    before = time.time()
    with path.open("w") as file:
        file.write(token)
        file.flush()
        os.fsync(file.fileno())
        after = time.time()
        stored = os.fstat(file.fileno()).st_mtime
    return [before - stored, after - stored]

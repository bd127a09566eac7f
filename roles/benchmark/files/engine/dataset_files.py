"""Files of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dataset_trees import digest, files_below, sampled_bytes


def check_files(folder: Path) -> tuple[dict[str, Any], list[str]]:
    paths = files_below(folder, lambda _name: True)
    facts = {"files": len(paths), "names": digest(folder, paths), "bytes": sampled_bytes(paths)}
    return facts, [] if paths else [f"The dataset {folder} holds no files."]

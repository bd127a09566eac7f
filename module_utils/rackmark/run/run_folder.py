"""The folder of a run on the storage that its nodes share."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Mapping

from .manifest import Manifest, read_manifest

STOPPED = "stopped"  # a file in the folder of a run that was ended

_KEPT = ("job.sh",)
_ATTEMPT = "attempt-"


def run_id_for(workload: str, runs: Path, reserve: bool) -> str:
    """A name by time. With `reserve` its folder is made, so that runs begun in the same second differ."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    number = 1
    while True:
        run_id = f"{stamp}-{workload}" + (f"-{number}" if number > 1 else "")
        if not reserve and not (runs / run_id).exists():
            return run_id
        if reserve:
            runs.mkdir(parents=True, exist_ok=True)
            try:
                (runs / run_id).mkdir()
            except FileExistsError:
                pass
            else:
                return run_id
        number += 1


def known_run(runs: Path, run_id: str) -> Manifest:
    """The manifest of a run that was begun here."""
    if not (runs / run_id / "manifest.json").is_file():
        newest = sorted((path.parent.name for path in runs.glob("*/manifest.json")), reverse=True)[:3]
        known = f"the newest are {', '.join(newest)}" if newest else "there is none yet"
        raise ValueError(f"run_id={run_id} is not a run in {runs}: {known}.")
    return read_manifest(runs / run_id)


def write_new_file(path: Path, content: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)


def manifest_text(plan: Mapping[str, Any], more: Mapping[str, Any]) -> str:
    planned = {name: value for name, value in plan.items() if name != "jobs"}
    content = {"schema": "rackmark.manifest/1", **planned, **more, "jobs": plan["jobs"]}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def set_aside(folder: Path) -> None:
    """Moves what an attempt left out of the way of the next one, where nothing is judged and nothing is lost."""
    left = [path for path in folder.iterdir() if path.name not in _KEPT and not path.name.startswith(_ATTEMPT)]
    if left:
        numbers = [int(path.name[len(_ATTEMPT) :]) for path in folder.glob(f"{_ATTEMPT}[0-9]*")]
        attempt = folder / f"{_ATTEMPT}{max(numbers, default=0) + 1}"
        attempt.mkdir()
        for path in left:
            path.rename(attempt / path.name)

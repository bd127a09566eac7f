"""The folder of a run on the storage that its nodes share."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Mapping

from .manifest import read_manifest

STOPPED = "stopped"  # a file in the folder of a run that was ended
LIMITS = ("minutes", "stalled_after")


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


def known_run(runs: Path, run_id: str) -> dict[str, Any]:
    """What the manifest of a run that was begun here says, with what only who starts and stops jobs needs."""
    path = runs / run_id / "manifest.json"
    if not path.is_file():
        raise ValueError(f"run_id={run_id} is not a run in {runs}: {newest_in(runs, path.name)}.")
    read_manifest(path.parent)  # whose complaints are sentences
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def newest_in(folder: Path, record: str) -> str:
    """Who has mistyped the name of a run or a suite is told which there are."""
    newest = sorted((path.parent.name for path in folder.glob(f"*/{record}")), reverse=True)[:3]
    return f"the newest are {', '.join(newest)}" if newest else "there is none yet"


def refuse_to_resume(manifest: Mapping[str, Any], asked: Mapping[str, str], workload: str, launcher: str) -> None:
    """A run is resumed as it was planned, but for limits that were too low; an empty workload is whichever it was."""
    run_id = manifest["run_id"]
    given = {name: value for name, value in asked.items() if value}
    begun = {**manifest["asked"], "preset": manifest["preset"]}
    other = [f"{name}={value}" for name, value in given.items() if value != begun.get(name)]
    other = [each for each in other if each.partition("=")[0] not in LIMITS]
    if other:
        raise ValueError(f"run_id={run_id} resumes the run as it was planned: leave out {', '.join(other)}.")
    for name in LIMITS:
        if given.get(name) and float(given[name]) < manifest[name]:
            raise ValueError(
                f"{name}={given[name]} is less than the {manifest[name]} of run_id={run_id}: a limit can be raised."
            )
    if workload and manifest["workload"] != workload:
        raise ValueError(
            f"run_id={run_id} is a run of {manifest['workload']}, and this playbook is for {workload}: resume it with"
            f" the command that began it: {manifest['command']} -e run_id={run_id}"
        )
    if manifest["launcher"] != launcher:  # its processes are on another host, and would be missed here
        raise ValueError(
            f"run_id={run_id} was begun with launcher={manifest['launcher']}: add -e launcher={manifest['launcher']}."
        )


def refuse_other_conditions(manifest: Mapping[str, Any], now: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Who gives a value with a run that is resumed expects it to be used. Older versions wrote none of them down."""
    begun: Mapping[str, Any] = manifest.get("conditions", now)
    other = [
        f"{name}={value if isinstance(value, (str, int, float)) else json.dumps(value)}"
        for name, value in now.items()
        if value not in (begun.get(name, value), defaults.get(name))
    ]
    if other:
        raise ValueError(
            f"run_id={manifest['run_id']} resumes the run as it was begun, without {', '.join(other)}: leave that out,"
            " or begin a new run."
        )


def with_limits(manifest: Mapping[str, Any], asked: Mapping[str, str]) -> dict[str, Any]:
    """The plan with the limits that are asked for now."""
    return {**manifest, **{name: int(asked[name]) for name in LIMITS if asked.get(name)}}


def write_new_file(path: Path, content: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)


def manifest_text(plan: Mapping[str, Any], more: Mapping[str, Any]) -> str:
    planned = {name: value for name, value in plan.items() if name != "jobs"}
    content = {"schema": "rackmark.manifest/1", **planned, **more, "jobs": plan["jobs"]}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

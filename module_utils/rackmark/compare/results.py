"""Finds and reads the summary.json of runs and analyses, whoever wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping, Sequence, cast

from ..numbers.summary_json import SCHEMA, Summary
from ..run.collected_runs import newest
from ..run.manifest import Manifest, hosts_of_run, read_manifest

_LARGEST = 1e100
_OF_SUMMARY: Mapping[str, tuple[type, ...]] = {
    "run_id": (str,),
    "workload": (str,),
    "unit": (str,),
    "state": (str,),
    "states": (dict,),
    "cases": (list,),
}
_OF_CASE: Mapping[str, tuple[type, ...]] = {
    "case": (str,),
    "repeats_ok": (int,),
    "repeats_total": (int,),
    "median": (int, float, type(None)),
    "batch_per_device": (int, type(None)),
    "precision": (str, type(None)),
    "runs": (list,),
}
_OF_RUN: Mapping[str, tuple[type, ...]] = {"throughput": (int, float, type(None))}
_OF_TRAINING: Mapping[str, tuple[type, ...]] = {"time_to_train_s": (int, float, type(None))}


def find_results(name: str, folders: Sequence[Path], start: Path) -> Path:
    """The folder that holds a summary.json: by its name in one of `folders`, or by its path, seen from `start`."""
    wanted = [start / Path(name).expanduser()] if "/" in name else [folder / name for folder in folders]
    found = [folder for folder in wanted if (folder / "summary.json").is_file()]
    if len(found) > 1:
        raise ValueError(f"{name} is in {found[0].parent} and in {found[1].parent}: give the path of one.")
    if found:
        return found[0].resolve()
    empty = [folder for folder in wanted if folder.is_dir()]
    if empty:
        raise ValueError(
            f"{empty[0]} has no summary.json: write one with playbooks/report.yml -e run_ids={empty[0].name}, if it is"
            " the folder of a run."
        )
    if "/" in name:
        raise ValueError(f"There is no folder {wanted[0]}: give one that holds a summary.json.")
    where = " or ".join(map(str, folders))
    elsewhere = "A folder elsewhere is given as a path, with a /."
    raise ValueError(f"There are no results {name} in {where}. {newest(*folders)} {elsewhere}")


def read_summary(folder: Path) -> Summary:
    path = folder / "summary.json"
    try:
        content = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ValueError(f"{path} does not have the schema {SCHEMA!r}.")
    _check(content, _OF_SUMMARY, str(path))
    for number, case in enumerate(content["cases"], start=1):
        _check(case, _OF_CASE, f"Entry {number} of cases in {path}")
        for run in case["runs"]:
            where = f"A repeat of {case['case']} in {path}"
            _check(run, _OF_RUN, where)
            _check({"time_to_train_s": run.get("time_to_train_s")}, _OF_TRAINING, where)
    names = [case["case"] for case in content["cases"]]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{path} lists {twice} more than once.")
    return cast(Summary, content)


def read_results(folder: Path) -> tuple[Summary, Manifest | None, Sequence[Mapping[str, Any]]]:
    """The summary, and the manifest with the hosts where there is one."""
    summary = read_summary(folder)
    if not (folder / "manifest.json").is_file():
        return summary, None, []
    manifest = read_manifest(folder)
    return summary, manifest, hosts_of_run(folder, manifest)


def _check(content: object, types: Mapping[str, tuple[type, ...]], where: str) -> None:
    if not isinstance(content, dict):
        raise ValueError(f"{where} is {content!r}, which is not an object.")
    missing = [name for name in types if name not in content]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}.")
    for name, known in types.items():
        value = content[name]
        if not isinstance(value, known):
            raise ValueError(f"{where} has {name}={value!r}, which is not of the right type.")
        if isinstance(value, (int, float)) and not abs(value) < _LARGEST:
            raise ValueError(f"{where} has {name}={value}, which nobody can have measured.")

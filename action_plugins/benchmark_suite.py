"""Ansible action: read and check the list of a suite's runs where it is, and have it recorded."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ansible.parsing.splitter import parse_kv
from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.flagperf.as_suite import AsSuite, as_suite, offer_of
from rackmark.flagperf.commit import commit_of
from rackmark.flagperf.driven import driven_suite
from rackmark.flagperf.importing import read_flagperf
from rackmark.run.suite import SuiteRun, pair, runs_of_cases, suite_runs
from rackmark.run.workload_folder import load, models
from rackmark.run.yaml_file import lines_of, read_yaml

_NAME = re.compile(r"[0-9]{8}-[0-9]{6}-[A-Za-z0-9_-][A-Za-z0-9_.-]*")


class ActionModule(ActionBase):
    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        suite, common = arguments.pop("suite", ""), SuiteRun(**arguments.pop("common", {"workload": ""}))
        workloads, flagperf = Path(arguments.pop("workloads", "")), arguments.pop("flagperf", "")
        driver, driven = arguments.pop("driver", ""), Path(arguments.pop("driven", ""))
        candidate = arguments.pop("candidate", "")
        if not arguments.get("suite_id"):
            try:
                _check_driver(driver, flagperf)
                if flagperf:
                    checkout = Path(flagperf).expanduser()
                    imported = (
                        _driven(checkout, common, workloads, driven)
                        if driver
                        else _imported(checkout, common, workloads)
                    )
                    result["becomes"], result["notes"] = _lines(imported), list(imported.notes)
                    name, runs = "flagperf", imported.runs
                elif candidate:
                    name, runs = "pair", pair(common.workload, _mapping(candidate), common)
                else:
                    name, runs = _read(suite, common, workloads)
            except ValueError as error:
                return {**result, "failed": True, "msg": str(error)}
            arguments.update(name=name, runs=[asdict(run) for run in runs])
        answer = {**result, **self._execute_module(module_args=arguments, task_vars=task_vars)}
        if not answer.get("failed"):
            answer.update(_refused(answer["suite"], str((task_vars or {}).get("inventory_hostname"))))
        return answer


def _refused(suite: dict[str, Any], host: str) -> dict[str, Any]:
    """Folders on this machine have these names, and what runs as the benchmark user could be made to say any."""
    names = [suite["suite_id"], *(run["run_id"] for run in suite["runs"] if run["run_id"])]
    wrong = [name for name in names if not _NAME.fullmatch(name)]
    return {"failed": True, "msg": f"{host} calls a run {wrong[0]}, which is no valid run name."} if wrong else {}


def _read(suite: object, common: SuiteRun, workloads: Path) -> tuple[str, list[SuiteRun]]:
    """The runs, and what to call them together."""
    if isinstance(suite, str) and suite:
        path = Path(suite).expanduser()
        runs = suite_runs(read_yaml(path), common, str(path), partial(lines_of, path))
        return re.sub(r"[^A-Za-z0-9_-]", "_", path.stem), runs
    if suite:
        return "suite", suite_runs(suite, common, "suite")
    cases = common.asked.get("cases")
    if not cases:
        raise ValueError(
            "There is nothing to run: give a list of runs with -e suite=FILE, FlagPerf's case strings with -e cases=, a"
            " checkout of FlagPerf with -e flagperf=DIR, or a suite with -e suite_id=."
        )
    return "suite", runs_of_cases(cases, models(workloads), common)


def _mapping(candidate: object) -> dict[str, Any]:
    """What differs: a mapping, or the words of it."""
    if isinstance(candidate, dict):
        return candidate
    words: dict[str, Any] = parse_kv(str(candidate), check_raw=False)
    if str(candidate).strip() != "same" and (not words or "_raw_params" in words):
        raise ValueError(
            f"candidate={candidate} says no more than words: write what differs from the baseline, as in"
            " -e candidate='precision=bf16 batch=64', or same for two runs that differ in nothing."
        )
    return {} if "_raw_params" in words else words


def _imported(checkout: Path, common: SuiteRun, workloads: Path) -> AsSuite:
    offers = {name: offer_of(model.folder, load(workloads / model.folder)) for name, model in models(workloads).items()}
    return as_suite(read_flagperf(checkout), offers, common)


def _check_driver(driver: str, flagperf: str) -> None:
    if driver not in ("", "flagperf"):
        raise ValueError(f"driver={driver} is unknown: use flagperf, or nothing for our own workloads.")
    if driver and not flagperf:
        raise ValueError("driver=flagperf runs the programs of a checkout: name its folder with -e flagperf=DIR.")


def _driven(checkout: Path, common: SuiteRun, workloads: Path, dest: Path) -> AsSuite:
    imported = read_flagperf(checkout, str(common.asked.get("cases") or ""))
    return driven_suite(imported, common, commit_of(checkout), workloads / "flagperf", dest)


def _lines(imported: AsSuite) -> list[str]:
    """What becomes of every key, file by file."""
    lines, file = [], ""
    for entry in imported.entries:
        there, _, line = entry.where.rpartition(", line ")
        if there != file:
            lines += [f"{there}:"]
            file = there
        lines.append(f"  {line}: {entry.key} = {entry.old} -> {entry.new}")
    return lines

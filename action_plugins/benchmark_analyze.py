"""Ansible action: turn a folder of training logs that other tools wrote into summaries and reports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping

from ansible import context
from ansible.parsing.splitter import parse_kv
from ansible.plugins.action import ActionBase

# Unlike modules, plugins are not given the project's module_utils by Ansible.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))
from rackmark.analysis.analysis import analyze, read_logs
from rackmark.analysis.log_tree import find_logs
from rackmark.analysis.options import Options, refuse_other_names
from rackmark.analysis.outcome import Outcome, outcome
from rackmark.files import keep_files
from rackmark.report.pictures import load_plotting
from rackmark.run.cases import Case
from rackmark.run.manifest import read_manifest

OPTIONS = {
    "logs": {"type": "path", "required": True},
    "dialect": {"type": "str", "default": "auto"},
    "warmup": {"type": "int"},
    "train": {"type": "int"},
    "batch": {"type": "int"},
    "case": {"type": "str"},
    "baseline": {"type": "str"},
    "precision": {"type": "str"},
    "profile": {"type": "str", "default": "rackmark"},
    "dest": {"type": "path", "required": True},
    "templates": {"type": "path", "required": True},
}


class ActionModule(ActionBase):
    """Runs on the machine that Ansible runs on, and connects to no host."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _, params = self.validate_argument_spec(OPTIONS)
        try:
            refuse_other_names(typed_names(context.CLIARGS.get("extra_vars") or ()))
            refuse_no_folder(Path(params["dest"]))
            outcomes = analyze_folder(params)
            changed = keep_outcomes(outcomes, Path(params["dest"]), only_look=self._task.check_mode)
        except (OSError, ValueError) as error:
            return {**result, "failed": True, "msg": str(error)}
        return {**result, **as_result(outcomes, Path(params["dest"])), "changed": bool(changed), "files": changed}


def typed_names(given: Iterable[str]) -> Iterator[str]:
    """Of -e NAME=VALUE; what is in a file or in JSON is for more playbooks than this one."""
    for text in given:
        if not text.startswith(("@", "{", "[")):
            yield from (name for name in parse_kv(text) if name != "_raw_params")


def refuse_no_folder(dest: Path) -> None:
    for place in (dest, *dest.parents):
        if place.exists():
            if not place.is_dir():
                raise ValueError(f"{place} is no folder, and reports are written into one: choose it with -e out=DIR.")
            return


def analyze_folder(params: Mapping[str, Any]) -> dict[str, Outcome]:
    """By the name of the series."""
    options = Options(
        warmup=params["warmup"],
        last=params["train"],
        batch=params["batch"],
        case=Case.parse(params["case"]) if params["case"] else None,
        precision=params["precision"],
        baseline=Case.parse(params["baseline"]) if params["baseline"] else None,
        profile=params["profile"],
    )
    tree = find_logs(Path(params["logs"]))
    read = read_logs(tree, params["dialect"], options, meanwhile=load_plotting)
    analyses = analyze(tree, read, options, params["logs"])
    for one in analyses:
        refuse_other_logs(Path(params["dest"]) / one.name, params["logs"])
    return {one.name: outcome(one, Path(params["templates"])) for one in analyses}


def refuse_other_logs(dest: Path, logs: str) -> None:
    """What was read from another folder of the same name may be a baseline that somebody keeps."""
    if not (dest / "manifest.json").exists():
        return
    before = (read_manifest(dest).logs or {}).get("folder")
    if before != logs:
        raise ValueError(f"{dest} holds the analysis of {before}: choose another folder with -e out=DIR, or delete it.")


def keep_outcomes(outcomes: Mapping[str, Outcome], dest: Path, only_look: bool) -> list[str]:
    """The paths of the files that were missing or differed."""
    changed: list[str] = []
    for name, found in outcomes.items():
        changed += keep_files(dest / name, found.files, only_look=only_look)
    return changed


def as_result(outcomes: Mapping[str, Outcome], dest: Path) -> dict[str, Any]:
    reports = {name: str(dest / name / "report.html") for name in outcomes}
    states = {found.summary["state"] for found in outcomes.values()}
    if not all(found.is_whole for found in outcomes.values()):
        states.add("partial")
    return {
        "state": states.pop() if len(states) == 1 else "partial",
        "lines": [line for name, found in outcomes.items() for line in as_lines(name, found, reports[name])],
        "analyses": [
            {
                "name": name,
                "state": found.summary["state"],
                "dialect": found.dialect,
                "recognised_by": found.recognised_by,
                "table": found.table,
                "problems": found.problems,
                "report": reports[name],
                "summary": found.summary,
            }
            for name, found in outcomes.items()
        ],
    }


def as_lines(name: str, found: Outcome, report: str) -> list[str]:
    recognised = f"{found.dialect}, recognised by: {found.recognised_by}"
    return ["", name, recognised, "", *found.table, "", *found.problems, f"Report: {report}"]

#!/usr/bin/python
"""Ansible module: turns a folder of training logs that other tools wrote into summaries and reports."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_analyze
short_description: Read training logs of other tools
description:
  - Recognises in which dialect each log of a folder is written, sorts the logs into series (same dialect, model, batch
    and precision), cases and repeats by their paths and lines, and says of every repeat what it is worth.
  - An experiment of AIPerf, and what the ranks of ais-bench leave, is a folder that is read as one repeat. The logs of
    power meters add the energy to the training whose folder or name they share.
  - Writes for every series C(summary.json), C(summary.csv), C(manifest.json), C(metrics.prom), C(dlperf_result.json),
    C(junit.xml), C(report.html), C(report.md) and its pictures into a folder of its own.
  - Does not fail when repeats are not ok, which is what RV(state) says. It fails when no log is in a known dialect.
  - Runs on the controller with the Python of Ansible, which has NumPy, Jinja2 and Matplotlib.
options:
  logs:
    description: Folder that holds the logs, or one log. Links in it are passed over.
    type: path
    required: true
  dialect:
    description: Name of the dialect of all logs, or V(auto) to recognise it by their lines.
    type: str
    default: auto
  warmup:
    description: Steps at the begin that are left out. Without it those that DLPerf leaves out in the dialect.
    type: int
  train:
    description: The last step that is measured. Without it the last one in the log.
    type: int
  batch:
    description: Samples per device and step, where neither paths nor lines say it.
    type: int
  case:
    description: Case of all logs, such as V(2n8g), where neither paths nor lines say it.
    type: str
  baseline:
    description: Case that speedup compares with. Without it the one with one device.
    type: str
  precision:
    description: Number format, such as V(fp16), where neither paths nor lines say it.
    type: str
  profile:
    description:
      - V(dlperf) measures over the steps that DLPerf measures, and rounds as it does.
      - V(aah), V(aiperf-1.0), V(aiperf) and V(lab) are the rules for experiments of AIPerf; without one of them the one
        that the experiment names is, or V(aiperf).
      - V(rackmark) measures what the logs hold.
    type: str
    default: rackmark
  dest:
    description: Folder in which a folder is made for every series.
    type: path
    required: true
  templates:
    description: Folder that holds C(report.html.j2) and C(report.md.j2).
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: Everything is computed and returned, nothing is written.
author:
  - Rackmark
"""

EXAMPLES = r"""
- name: Read the logs of a DLPerf run with its own window and rounding
  benchmark_analyze:
    logs: /data/logs_fp32/mindspore/resnet50/bz128
    warmup: 100
    train: 200
    profile: dlperf
    dest: "{{ playbook_dir }}/../reports/analyses"
    templates: "{{ playbook_dir }}/../reports/templates"
  delegate_to: localhost
  vars:
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
"""

RETURN = r"""
analyses:
  description:
    - One entry per series, with its name, dialect, the line it was recognised by, state, table, problems, the path of
      its report and its summary.
  type: list
  elements: dict
  returned: success
lines:
  description: All tables and problems for a terminal, one entry per line.
  type: list
  elements: str
  returned: success
state:
  description: V(ok) if every repeat of every series is ok, V(failed) if none is, else V(partial).
  type: str
  returned: success
files:
  description: The files that were written because they were missing or differed.
  type: list
  elements: str
  returned: success
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.analysis.analysis import analyze, read_logs
from ansible.module_utils.rackmark.analysis.log_tree import find_logs
from ansible.module_utils.rackmark.analysis.options import Options
from ansible.module_utils.rackmark.analysis.outcome import Outcome, outcome
from ansible.module_utils.rackmark.files import keep_files
from ansible.module_utils.rackmark.run.cases import Case
from ansible.module_utils.rackmark.run.manifest import read_manifest


def main() -> None:
    module = AnsibleModule(
        argument_spec={
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
        },
        supports_check_mode=True,
    )
    try:
        outcomes = analyze_folder(module)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))

    def report_of(name: str) -> str:
        return str(Path(module.params["dest"]) / name / "report.html")

    changed = []
    for name, found in outcomes.items():
        folder = Path(module.params["dest"]) / name
        changed += keep_files(folder, found.files, only_look=module.check_mode)
    states = {found.summary["state"] for found in outcomes.values()}
    module.exit_json(
        changed=bool(changed),
        files=changed,
        state=states.pop() if len(states) == 1 else "partial",
        lines=[line for name, found in outcomes.items() for line in as_lines(name, found, report_of(name))],
        analyses=[
            {
                "name": name,
                "state": found.summary["state"],
                "dialect": found.dialect,
                "recognised_by": found.recognised_by,
                "table": found.table,
                "problems": found.problems,
                "report": report_of(name),
                "summary": found.summary,
            }
            for name, found in outcomes.items()
        ],
    )


def as_lines(name: str, found: Outcome, report: str) -> list[str]:
    recognised = f"{found.dialect}, recognised by: {found.recognised_by}"
    return ["", name, recognised, "", *found.table, "", *found.problems, f"Report: {report}"]


def analyze_folder(module: AnsibleModule) -> dict[str, Outcome]:
    """By the name of the series."""
    params = module.params
    case = Case.parse(params["case"]) if params["case"] else None
    options = Options(
        warmup=params["warmup"],
        last=params["train"],
        batch=params["batch"],
        case=case,
        precision=params["precision"],
        baseline=Case.parse(params["baseline"]) if params["baseline"] else None,
        profile=params["profile"],
    )
    tree = find_logs(Path(params["logs"]))
    analyses = analyze(tree, read_logs(tree, params["dialect"], options), options, params["logs"])
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


if __name__ == "__main__":
    main()

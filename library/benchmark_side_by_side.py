#!/usr/bin/python
"""Ansible module: compares the cases that runs have in common and writes the comparison."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_side_by_side
short_description: Compare runs
description:
  - Judges the repeats of two or more collected runs and compares every case in common with that of the first run.
    A case is V(better) or V(worse) if the 95 % interval of the difference is all above or all below 0, V(same) if it
    holds 0, and V(undecided) if there are too few repeats for an interval.
  - Writes C(comparison.html), C(comparison.md), C(comparison.json) and C(difference.png) into a folder named after
    the runs. The folders of the runs are left as they are.
  - Runs on the controller with the Python of Ansible, which has Jinja2 and Matplotlib.
options:
  runs_dir:
    description: Folder that holds the folders of the runs.
    type: path
    required: true
  run_ids:
    description: Names of two or more runs, separated by commas; the others are compared with the first.
    type: str
    required: true
  dest:
    description: Folder in which the folder of the comparison is made.
    type: path
    required: true
  templates:
    description: Folder that holds C(comparison.html.j2) and C(comparison.md.j2).
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
- name: Compare a run with the one before the upgrade
  benchmark_side_by_side:
    runs_dir: "{{ playbook_dir }}/../reports/runs"
    run_ids: 20261118-101500-resnet50,latest
    dest: "{{ playbook_dir }}/../reports/comparisons"
    templates: "{{ playbook_dir }}/../reports/templates"
  delegate_to: localhost
  vars:
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
"""

RETURN = r"""
comparison:
  description: The content of C(comparison.json).
  type: dict
  returned: success
warning:
  description: A sentence when the runs did not measure the same thing, else null.
  type: str
  returned: success
table:
  description: The runs and the cases for a terminal, one entry per line.
  type: list
  elements: str
  returned: success
remarks:
  description: >-
    Sentences on cases that not every run has, on too few repeats, on runs that are not complete and on what separate
    runs cannot tell.
  type: list
  elements: str
  returned: success
report:
  description: Path of C(comparison.html).
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
from ansible.module_utils.rackmark.compare.side_by_side import RunToCompare, compare
from ansible.module_utils.rackmark.files import keep_files
from ansible.module_utils.rackmark.judging.judge_run import judge_run
from ansible.module_utils.rackmark.numbers.measurements import measure
from ansible.module_utils.rackmark.numbers.summary import summarize
from ansible.module_utils.rackmark.report.comparison_report import (
    comparison_files,
    remarks,
    terminal_table,
    verdicts,
    warning,
)
from ansible.module_utils.rackmark.run.collected_runs import find_runs
from ansible.module_utils.rackmark.run.manifest import hosts_of_run, read_manifest


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "runs_dir": {"type": "path", "required": True},
            "run_ids": {"type": "str", "required": True},
            "dest": {"type": "path", "required": True},
            "templates": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    try:
        folders = find_runs(Path(module.params["runs_dir"]), module.params["run_ids"])
        if len(folders) < 2:
            raise ValueError(f"run_ids={module.params['run_ids']} is one run: it takes at least two to compare.")
        runs = [read_run(folder) for folder in folders]
        comparison = compare(runs)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    folder = Path(module.params["dest"]) / "--".join(path.name for path in folders)
    files = comparison_files(comparison, runs, Path(module.params["templates"]))
    changed = keep_files(folder, files, only_look=module.check_mode)
    module.exit_json(
        changed=bool(changed),
        files=changed,
        comparison=comparison,
        warning=warning(comparison),
        table=[*terminal_table(comparison), "", verdicts(comparison)],
        remarks=remarks(comparison, runs),
        report=str(folder / "comparison.html"),
    )


def read_run(folder: Path) -> RunToCompare:
    manifest = read_manifest(folder)
    judged = judge_run(folder, manifest)
    return RunToCompare(
        manifest,
        summarize(manifest, judged, measure([case.case for case in manifest.cases], judged)),
        hosts_of_run(folder, manifest),
    )


if __name__ == "__main__":
    main()

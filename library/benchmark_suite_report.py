#!/usr/bin/python
"""Ansible module: one page for all runs of a suite."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_suite_report
short_description: Write one page for all runs of a suite
description:
  - Reads the summaries of the runs that were collected, and writes C(index.html), C(index.md) and C(suite.json), with a
    row for every case of every run, and a table of each run as FlagPerf's READMEs have it.
options:
  suite:
    description: The suite, as M(benchmark_suite) returns it.
    type: dict
    required: true
  runs_dir:
    description: Folder of the collected runs.
    type: path
    required: true
  dest:
    description: Folder of the suites' pages.
    type: path
    required: true
  templates:
    description: Folder of the templates.
    type: path
    required: true
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Write the page of a suite
  benchmark_suite_report:
    suite: "{{ read.suite }}"
    runs_dir: reports/runs
    dest: reports/suites
    templates: reports/templates
"""

RETURN = r"""
state:
  description: C(ok) where all runs are.
  type: str
  returned: success
table:
  description: The cases of all runs for a terminal.
  type: list
  elements: str
  returned: success
problems:
  description: Sentences on runs that are not ok.
  type: list
  elements: str
  returned: success
report:
  description: Path of C(index.html).
  type: str
  returned: success
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.files import changed_files, write_files
from ansible.module_utils.rackmark.report.suite_report import (
    headline,
    problems,
    reported_runs,
    state_of,
    suite_files,
    terminal_table,
)
from ansible.module_utils.rackmark.run.suite import Suite, SuiteRun


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "suite": {"type": "dict", "required": True},
            "runs_dir": {"type": "path", "required": True},
            "dest": {"type": "path", "required": True},
            "templates": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    suite = Suite(**{**params["suite"], "runs": [SuiteRun(**run) for run in params["suite"]["runs"]]})
    folder = Path(params["dest"]) / suite.suite_id
    runs = reported_runs(suite, Path(params["runs_dir"]), folder)
    files = suite_files(suite, runs, Path(params["templates"]))
    changed = changed_files(folder, files)
    if not module.check_mode:
        write_files(folder, files)
    module.exit_json(
        changed=bool(changed),
        state=state_of(runs),
        table=[*terminal_table(runs), "", headline(runs)],
        problems=problems(runs),
        report=str(folder / "index.html"),
    )


if __name__ == "__main__":
    main()

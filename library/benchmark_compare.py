#!/usr/bin/python
"""Ansible module: holds a run against a baseline and writes the verdicts."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_compare
short_description: Compare a run with a baseline
description:
  - Compares the medians of every case of the baseline with those of the run, from the C(summary.json) of both, and
    says for each whether it is V(passed), a V(regression) (worse by more than the tolerance), V(missing) from the run,
    or V(undecided) because there is nothing to hold it against.
  - Writes C(gate.json) and C(junit.xml) into a folder named after both. The folders of the runs are left as they are.
  - Does not fail when a case does not pass, which is what RV(passed) says. It fails when there is nothing to compare.
  - Runs on the controller with the Python of Ansible, which has NumPy.
options:
  baseline:
    description:
      - The baseline, by the name of its folder in one of O(folders), or as the path of a folder that holds a
        C(summary.json).
    type: str
    required: true
  run:
    description: The run that is held against it, in the same way.
    type: str
    required: true
  tolerance:
    description: By how much a case may be worse, as in V(3%).
    type: str
    required: true
  folders:
    description: Folders that hold the folders of runs and analyses.
    type: list
    elements: path
    required: true
  start:
    description: Folder from which a relative path is seen.
    type: path
    required: true
  dest:
    description: Folder in which the folder of the verdicts is made.
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
- name: Compare the nightly run with the release
  benchmark_compare:
    baseline: 20261118-101500-resnet50
    run: latest
    tolerance: 3%
    folders: ["{{ playbook_dir }}/../reports/runs"]
    start: "{{ playbook_dir }}"
    dest: "{{ playbook_dir }}/../reports/comparisons"
  delegate_to: localhost
  vars:
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
  register: gate

- name: Fail if a case is worse than the tolerance allows
  ansible.builtin.assert:
    that: gate.passed
    fail_msg: "{{ gate.verdict }}"
"""

RETURN = r"""
gate:
  description: The content of C(gate.json).
  type: dict
  returned: success
passed:
  description: Whether every case of the baseline has passed, and the run as a whole is complete and comparable.
  type: bool
  returned: success
verdict:
  description: The outcome in a sentence.
  type: str
  returned: success
table:
  description: The cases for a terminal, one entry per line.
  type: list
  elements: str
  returned: success
sentences:
  description: What speaks against the run as a whole, and what a reader should know besides.
  type: list
  elements: str
  returned: success
junit:
  description: Path of C(junit.xml).
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
from ansible.module_utils.rackmark.compare.gate import Measured, gate, parse_tolerance, table, verdict
from ansible.module_utils.rackmark.compare.results import find_results, read_results
from ansible.module_utils.rackmark.files import keep_files
from ansible.module_utils.rackmark.formats.junit import junit_of_gate
from ansible.module_utils.rackmark.formats.summary_files import json_bytes


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "baseline": {"type": "str", "required": True},
            "run": {"type": "str", "required": True},
            "tolerance": {"type": "str", "required": True},
            "folders": {"type": "list", "elements": "path", "required": True},
            "start": {"type": "path", "required": True},
            "dest": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    asked = {name: module.params[name] for name in ("baseline", "run", "tolerance")}
    try:
        check_asked(asked)
        tolerance = parse_tolerance(asked["tolerance"])
        known = [Path(folder) for folder in module.params["folders"]]
        baseline, run = (find_results(asked[name], known, Path(module.params["start"])) for name in ("baseline", "run"))
        if baseline == run:
            raise ValueError(f"baseline and run are both {run}: a run always passes against itself.")
        result = gate(Measured(*read_results(baseline)), Measured(*read_results(run)), tolerance)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    folder = Path(module.params["dest"]) / f"{baseline.name}--{run.name}"
    files = {"gate.json": json_bytes(result), "junit.xml": junit_of_gate(result)}
    changed = keep_files(folder, files, only_look=module.check_mode)
    module.exit_json(
        changed=bool(changed),
        files=changed,
        gate=result,
        passed=result["passed"],
        verdict=verdict(result),
        table=table(result),
        sentences=[*result["problems"], *result["remarks"]],
        junit=str(folder / "junit.xml"),
    )


def check_asked(asked: dict[str, str]) -> None:
    missing = [name for name, value in asked.items() if not value.strip()]
    if missing:
        raise ValueError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: it takes"
            " -e baseline=RUN -e run=RUN -e tolerance=3%."
        )


if __name__ == "__main__":
    main()

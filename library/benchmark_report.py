#!/usr/bin/python
"""Ansible module: judges the repeats of a run and writes its summary and its report."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_report
short_description: Judge a run and write its summary and report
description:
  - Reads the logs and the telemetry of every repeat that the C(manifest.json) of a run asks for, gives each a
    state, and writes C(result.json) beside them and C(summary.json), C(summary.csv), C(metrics.prom), C(junit.xml),
    C(mllog/), C(dlperf_result.json), C(report.html), C(report.md) and its pictures into the folder of the run.
  - Does not fail when repeats are not ok, which is what RV(state) says. It fails when the folder holds no readable run.
  - Runs on the controller with the Python of Ansible, which has Jinja2 and Matplotlib.
options:
  run_dir:
    description: Folder of the run, which holds C(manifest.json) and C(cases/), or a link to it.
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
- name: Judge the run and write its report
  benchmark_report:
    run_dir: "{{ playbook_dir }}/../reports/runs/{{ run_id }}"
    templates: "{{ playbook_dir }}/../reports/templates"
  delegate_to: localhost
  vars:
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
  register: report

- name: Require every repeat to be ok
  ansible.builtin.assert:
    that: report.state == "ok"
    fail_msg: "{{ report.problems | join('\n') }}"
"""

RETURN = r"""
summary:
  description: The content of C(summary.json).
  type: dict
  returned: success
state:
  description: V(ok) if every repeat asked for is ok, V(failed) if none is, else V(partial).
  type: str
  returned: success
table:
  description: The scaling table for a terminal, one entry per line.
  type: list
  elements: str
  returned: success
problems:
  description:
    - One sentence per way in which repeats failed, per doubtful number and per repeat that took several attempts.
  type: list
  elements: str
  returned: success
report:
  description: Path of C(report.html).
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
from ansible.module_utils.rackmark.files import keep_files
from ansible.module_utils.rackmark.formats.aiperf_tree import write_tree
from ansible.module_utils.rackmark.formats.dlperf_result import dlperf_result
from ansible.module_utils.rackmark.formats.flagperf_tree import flagperf_tree, keep_links
from ansible.module_utils.rackmark.formats.junit import junit
from ansible.module_utils.rackmark.formats.mllog import mllog_files
from ansible.module_utils.rackmark.formats.prometheus_text import prometheus_text
from ansible.module_utils.rackmark.formats.summary_files import json_bytes, summary_files
from ansible.module_utils.rackmark.judging.judge_run import judge_run
from ansible.module_utils.rackmark.judging.repeat import repeat_folder
from ansible.module_utils.rackmark.node.repeat_folder import EXPERIMENT
from ansible.module_utils.rackmark.numbers.measurements import measure
from ansible.module_utils.rackmark.numbers.sentences import problems
from ansible.module_utils.rackmark.numbers.summary import summarize
from ansible.module_utils.rackmark.report.automl_report import parts, searches_of
from ansible.module_utils.rackmark.report.presentation import table
from ansible.module_utils.rackmark.report.report import report_files
from ansible.module_utils.rackmark.report.telemetry_section import section
from ansible.module_utils.rackmark.run.collected_runs import find_run
from ansible.module_utils.rackmark.run.manifest import hosts_of_run, read_manifest
from ansible.module_utils.rackmark.telemetry.repeats import read_run_telemetry
from ansible.module_utils.rackmark.telemetry.result import telemetry_facts, with_device_memory, with_energies


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "run_dir": {"type": "path", "required": True},
            "templates": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    try:
        run_dir = find_run(Path(module.params["run_dir"]))
        manifest = read_manifest(run_dir)
        judged = judge_run(run_dir, manifest)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    telemetry = read_run_telemetry(run_dir, manifest, judged)
    judged, left_out = with_energies(judged, telemetry)
    judged = with_device_memory(judged, telemetry, manifest.device)
    measured = measure([case.case for case in manifest.cases], judged)
    summary = summarize(manifest, judged, measured)
    templates = Path(module.params["templates"])
    tree = flagperf_tree(run_dir, manifest)
    searched = searches_of(judged)
    files = {
        **tree.files,
        **summary_files(summary, judged, [telemetry_facts(seen) for seen in telemetry]),
        "dlperf_result.json": json_bytes(dlperf_result(manifest, summary)),
        "metrics.prom": prometheus_text(summary),
        **mllog_files(manifest, judged),
        "junit.xml": junit(summary),
        **report_files(
            manifest,
            summary,
            measured,
            hosts_of_run(run_dir, manifest),
            templates,
            telemetry=section(manifest, telemetry, [one.result.state == "ok" for one in judged], left_out),
            searches=parts(run_dir, searched),
        ),
    }
    remarks: list[str] = []
    try:
        changed = keep_files(run_dir, files, only_look=module.check_mode)
        for one in searched:
            folder = repeat_folder(run_dir, one.case, one.repeat)
            if one.result.score.final is None and not (folder / EXPERIMENT).exists():
                continue  # its state says why it never began
            written = write_tree(folder, one.result, one.state, one.reason, templates, only_look=module.check_mode)
            changed += written.changed
            remarks += written.remarks
        if not module.check_mode:
            keep_links(run_dir, tree.links)
    except OSError as error:
        module.fail_json(
            msg=f"The report cannot be written to {run_dir}: {error.strerror}. Nothing is lost: the logs are there."
            " Make room or make it writable, then judge them again: ansible-playbook playbooks/report.yml"
            f" -e run_ids={run_dir.name} -e benchmark_runs_dir={run_dir.parent}"
        )
    module.exit_json(
        changed=bool(changed),
        files=changed,
        summary=summary,
        state=summary["state"],
        table=table(summary).splitlines(),
        problems=[*problems(summary), *remarks],
        report=str(run_dir / "report.html"),
    )


if __name__ == "__main__":
    main()

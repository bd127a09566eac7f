#!/usr/bin/python
"""Ansible module: the record of a suite, beside the runs on the storage that nodes share."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_suite
short_description: Read a suite, and write down which runs it consists of
description:
  - A suite is a list of runs that are started, resumed and stopped as one. Its action plugin reads and checks the list
    on the machine that Ansible runs on; the module keeps a record of it on the host that submits the jobs, so that the
    suite can be resumed from any machine.
  - With O(suite_id) alone the record is read. In check mode nothing is written.
options:
  suite:
    description: A list of runs, or the path of a file with one, relative to where Ansible was started.
    type: raw
    default: ''
  common:
    description: What the command line says for all runs, C(asked), C(settings), C(flags) and C(image).
    type: dict
    default: {}
  workloads:
    description: >-
      Folder of the workloads, where the models of FlagPerf's case strings in C(common.asked.cases) are looked up.
    type: path
  flagperf:
    description: >-
      Folder of a checkout of FlagPerf, whose test_conf.py and cluster_conf.py are read, and never executed. Its cases
      become runs of the workloads that stand for their models; C(common.asked.cases) chooses some of them.
    type: path
  driver:
    description: With V(flagperf), the checkout's own programs run its cases.
    type: str
    choices: ['', flagperf]
    default: ''
  driven:
    description: Folder on the machine that Ansible runs on, for the workloads that are made of the checkout then.
    type: path
  interleave:
    description: Let the jobs of its runs take turns.
    type: bool
    default: false
  candidate:
    description: >-
      What differs in the second of two runs of the workload in C(common), as in C(precision=bf16 batch=64), or a
      mapping; V(same) for nothing. Such a pair is a suite whose jobs take turns.
    type: raw
    default: ''
  suite_id:
    description: A suite that was begun.
    type: str
    default: ''
  begun:
    description: The run of this suite that begins now, with C(place) in the list, from 0, and C(run_id).
    type: dict
    default: {}
  suites:
    description: Folder of the records of all suites.
    type: path
    required: true
  runs_dir:
    description: Folder of all runs. A run whose folder was never finished, since its playbook was ended, is begun anew.
    type: path
    required: true
  started:
    description: When a new suite begins.
    type: str
    default: ''
  launcher:
    description: What starts the jobs of a new suite.
    type: str
    required: true
attributes:
  action:
    support: full
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Read a suite
  benchmark_suite:
    suite:
      - {workload: resnet50, framework: pytorch, nodes: 4}
      - {workload: resnet50, framework: mindspore, cases: '1n1g,4n1g'}
    suites: /userhome/rackmark/suites
    runs_dir: /userhome/rackmark/runs
    started: '2026-11-18T10:15:00Z'
"""

RETURN = r"""
becomes:
  description: What becomes of every key of FlagPerf's files, as lines.
  type: list
  elements: str
  returned: with O(flagperf)
notes:
  description: Sentences on where FlagPerf's configuration is not followed to the letter.
  type: list
  elements: str
  returned: with O(flagperf)
suite:
  description: C(suite_id), C(started), C(launcher), C(runs) and C(interleave).
  type: dict
  returned: success
"""

from dataclasses import asdict
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.files import changed_files, write_files
from ansible.module_utils.rackmark.run.run_folder import run_id_for
from ansible.module_utils.rackmark.run.suite import (
    RECORD,
    Suite,
    SuiteRun,
    begun,
    read_record,
    record_text,
    without_unbegun,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "suite_id": {"type": "str", "default": ""},
            "begun": {"type": "dict", "default": {}},
            "suites": {"type": "path", "required": True},
            "runs_dir": {"type": "path", "required": True},
            "started": {"type": "str", "default": ""},
            "launcher": {"type": "str", "default": ""},
            # The action plugin gives these.
            "runs": {"type": "list", "elements": "dict", "default": []},
            "name": {"type": "str", "default": "suite"},
            "interleave": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params = module.params
    suites, runs = Path(params["suites"]), [SuiteRun(**run) for run in params["runs"]]
    try:
        if params["suite_id"]:
            suite = without_unbegun(read_record(suites, params["suite_id"]), Path(params["runs_dir"]))
            suite = begun(suite, **params["begun"]) if params["begun"] else suite
        else:
            suite_id = run_id_for(params["name"], suites, reserve=not module.check_mode)
            suite = Suite(suite_id, params["started"], params["launcher"], runs, params["interleave"])
        files = {RECORD: record_text(suite).encode()}
        changed = bool(changed_files(suites / suite.suite_id, files))
        if not module.check_mode:
            write_files(suites / suite.suite_id, files)
    except (ValueError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, suite=asdict(suite))


if __name__ == "__main__":
    main()

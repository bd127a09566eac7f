#!/usr/bin/python
"""Ansible module: the repeats of a run that are ok."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_keep
short_description: Tell which jobs of a run need not run again
description:
  - Judges a run from its folder on the machine that Ansible runs on, as M(benchmark_collect) fills it.
  - Writes nothing.
options:
  run_dir:
    description: Folder of the run.
    type: path
    required: true
  jobs:
    description: The jobs of its plan.
    type: list
    elements: dict
    required: true
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Judge which repeats are ok
  benchmark_keep:
    run_dir: reports/runs/{{ run_id }}
    jobs: "{{ found.plan.jobs }}"
"""

RETURN = r"""
ok:
  description: Names of the jobs whose repeats are ok.
  type: list
  elements: str
  returned: success
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.judging.judge_run import judge_run
from ansible.module_utils.rackmark.node.states import OK
from ansible.module_utils.rackmark.run.manifest import read_manifest


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "run_dir": {"type": "path", "required": True},
            "jobs": {"type": "list", "elements": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    run_dir = Path(module.params["run_dir"])
    try:
        results = [judged.result for judged in judge_run(run_dir, read_manifest(run_dir))]
    except (ValueError, OSError) as error:
        module.fail_json(msg=f"What {run_dir} holds cannot be judged: {error}")
    ok = {(result.case, result.repeat) for result in results if result.state == OK}
    names = [job["name"] for job in module.params["jobs"] if (job["case"], job["repeat"]) in ok]
    module.exit_json(changed=False, ok=names)


if __name__ == "__main__":
    main()

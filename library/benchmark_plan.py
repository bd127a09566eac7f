#!/usr/bin/python
"""Ansible module: the plan of a benchmark run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_plan
short_description: Turn what an operator asks for into the cases and jobs of a run
description:
  - Runs on the host that submits the jobs and asks the queue which nodes can take them and what devices they have.
  - Checks every value against the workload and the cluster, and fails with the valid ones. The queue itself says
    whether it would take the largest job.
  - With RV(plan) made, the folder of the run is reserved; in check mode nothing is.
options:
  workload:
    description:
      - Folder of the workload on the machine that Ansible runs on. Its C(workload.yml) and its files are checked there.
    type: path
    required: true
  asked:
    description: >-
      What the operator gave, each a string, empty for the preset's value. C(nodes), C(cases), C(repeats), C(batch),
      C(precision), C(framework), C(preset), C(scaling), C(baseline), C(data), C(steps), C(warmup), C(hours),
      C(minutes), C(stalled_after), C(rules), C(target), C(require_target).
    type: dict
    default: {}
  settings:
    description: Sizes that replace the preset's.
    type: dict
    default: {}
  flags:
    description: Further flags for the workload's program.
    type: list
    elements: str
    default: []
  image:
    description: Image of the containers, when empty the workload's for the device. Without it there are no containers.
    type: str
  environment:
    description: Whether an environment will be built for the program.
    type: bool
    default: true
  runs:
    description: Folder of all runs, on storage that the nodes share.
    type: path
    required: true
  reports:
    description: Folder for results on the machine that Ansible runs on; the action makes sure that there is room.
    type: path
    required: true
  launcher:
    description: What starts the jobs.
    type: str
    choices: [slurm, ssh, local, modelarts]
    default: slurm
  hosts:
    description: Hosts of a launcher that has to be told which there are.
    type: list
    elements: str
    default: []
  accelerator:
    description: Devices of nodes on which no queue knows better.
    type: str
    choices: [nvidia, ascend, none]
    default: none
  device:
    description: What ranks train on, cpu, cuda or npu; V(auto) follows from the accelerator.
    type: str
    default: auto
  devices_per_node:
    description: Devices on each node; 0 asks the queue.
    type: int
    default: 0
  simulated:
    description: What is simulated. Simulated accelerators are handed out, and processors do the work.
    type: list
    elements: str
    default: []
  rank_table:
    description: Form of the rank table that ranks are given, which lists Ascend devices.
    type: str
    choices: ['', auto, 'off', '1.0', '1.2', lab, tensorflow]
    default: ''
  options:
    description: >-
      What the launcher's queue is told. For V(slurm) these are C(partition), C(account), C(qos), C(constraint), and
      C(more), a list of further options of sbatch.
    type: dict
    default: {}
  secrets:
    description: What the launcher's queue has to know and nobody may read, such as the keys of a cloud.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Plan a scaling run over four nodes
  benchmark_plan:
    workload: "{{ playbook_dir }}/../workloads/resnet50"
    asked: {nodes: '4', preset: full}
    runs: /userhome/rackmark/runs
    reports: reports/runs
"""

RETURN = r"""
plan:
  description: The run, with its cases and jobs.
  type: dict
  returned: success
sentence:
  description: The plan in words.
  type: str
  returned: success
table:
  description: Its cases, with jobs, ranks and node-hours, for a terminal.
  type: list
  elements: str
  returned: success
environment:
  description: What M(benchmark_environment) is to install for the program, on the device that it runs on.
  type: dict
  returned: success
software:
  description: Versions of what is used on this host.
  type: dict
  returned: success
simulated:
  description: What the queue says that it only simulates.
  type: list
  elements: str
  returned: success
left_out:
  description: Nodes that cannot take jobs, each with the reason.
  type: list
  elements: str
  returned: success
"""

import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.node.job_record import RANK_TABLES
from ansible.module_utils.rackmark.node.rank_table_model import FORMS
from ansible.module_utils.rackmark.run.asked import Asked
from ansible.module_utils.rackmark.run.job_state import QueueError
from ansible.module_utils.rackmark.run.plan import make_plan
from ansible.module_utils.rackmark.run.queues import DEFAULT, LAUNCHERS, queue_for
from ansible.module_utils.rackmark.run.queues.queue import Devices, QueuedJob, Setting, jobs_of
from ansible.module_utils.rackmark.run.run_folder import run_id_for
from ansible.module_utils.rackmark.run.run_plan import as_data
from ansible.module_utils.rackmark.run.workload import workload_from


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "workload": {"type": "dict", "required": True},  # the action plugin gives its content
            "asked": {"type": "dict", "default": {}},
            "settings": {"type": "dict", "default": {}},
            "flags": {"type": "list", "elements": "str", "default": []},
            "image": {"type": "str"},
            "environment": {"type": "bool", "default": True},
            "runs": {"type": "path", "required": True},
            "launcher": {"type": "str", "choices": list(LAUNCHERS), "default": DEFAULT},
            "hosts": {"type": "list", "elements": "str", "default": []},
            "accelerator": {"type": "str", "choices": ["nvidia", "ascend", "none"], "default": "none"},
            "device": {"type": "str", "default": "auto"},
            "devices_per_node": {"type": "int", "default": 0},
            "simulated": {"type": "list", "elements": "str", "default": []},
            "rank_table": {"type": "str", "choices": list(RANK_TABLES), "default": ""},
            "options": {"type": "dict", "default": {}},
            "secrets": {"type": "dict", "default": {}, "no_log": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    runs = Path(params["runs"])
    setting = Setting(module.run_command, runs, params["hosts"], params["options"], params["secrets"])
    queue = queue_for(params["launcher"], setting)
    devices = Devices(params["devices_per_node"], params["accelerator"], params["device"], params["simulated"])
    left_out: list[str] = []
    try:
        workload = workload_from(params["workload"])
        place = queue.place(devices)
        left_out = list(place.unfit)
        asked = Asked(**params["asked"], settings=params["settings"], flags=params["flags"])
        made = make_plan(workload, asked, "run", place, params["image"])  # all is checked before a folder is made
        if params["rank_table"] in FORMS and made.accelerator != "ascend":
            raise ValueError(
                f"benchmark_rank_table={params['rank_table']} lists Ascend devices, and this run has none of them:"
                " leave it out, or name the devices with benchmark_accelerator=ascend."
            )
        queue.check(max(jobs_of(as_data(made), runs), key=QueuedJob.size))
        software = workload.frameworks[made.framework].software
        environment: dict[str, Any] = {"package": software.package}
        if params["environment"]:
            environment = {**software.on(made.device), "instead": workload.instead_of(made.framework, made.device)}
        made = replace(made, run_id=run_id_for(workload.name, runs, reserve=not module.check_mode))
    except (ValueError, QueueError, OSError) as error:
        module.fail_json(msg=" ".join([str(error), *(f"{reason}." for reason in left_out)]))
    module.exit_json(
        changed=False,
        plan={**as_data(made), "asked": params["asked"]},
        sentence=made.sentence(),
        table=made.table(),
        environment=environment,
        left_out=left_out,
        simulated=list(place.simulated),
        software={"python": platform.python_version(), **queue.versions()},
    )


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Ansible module: the plan of a benchmark run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_plan
short_description: Turn what an operator asks for into the cases and jobs of a run
description:
  - Runs on the host that submits the jobs and asks Slurm which nodes can take them and what devices they have.
  - Checks every value against the workload and the cluster, and fails with the valid ones. Slurm itself says whether it
    would take the largest job.
  - With RV(plan) made, the folder of the run is reserved; in check mode nothing is.
options:
  workload:
    description: Content of the workload's C(workload.yml); not needed to find a run that was begun.
    type: dict
    default: {}
  asked:
    description: >-
      What the operator gave, each a string, empty for the preset's value. C(nodes), C(cases), C(repeats), C(batch),
      C(precision), C(framework), C(preset), C(scaling), C(baseline), C(data), C(steps), C(warmup), C(minutes),
      C(stalled_after).
    type: dict
    default: {}
  settings:
    description: Sizes that replace the preset's.
    type: dict
    default: {}
  flags:
    description: Further flags for the training script.
    type: list
    elements: str
    default: []
  run_id:
    description: Take this run up again as it was planned; nothing else may then be asked for.
    type: str
    default: ''
  runs:
    description: Folder of all runs, on storage that the nodes share.
    type: path
    required: true
  launcher:
    description: What starts the jobs.
    type: str
    choices: [slurm, ssh, local]
    default: slurm
  hosts:
    description: Hosts of the launcher V(ssh).
    type: list
    elements: str
    default: []
  accelerator:
    description: Devices that hosts without Slurm have.
    type: str
    choices: [nvidia, ascend, none]
    default: none
  device:
    description: What ranks train on, cpu, cuda or npu; V(auto) follows from the accelerator.
    type: str
    default: auto
  devices_per_node:
    description: Devices on each node; 0 asks Slurm.
    type: int
    default: 0
  simulated:
    description: What is simulated. Simulated accelerators are handed out, and processors do the work.
    type: list
    elements: str
    default: []
  slurm:
    description: C(partition), C(account), C(qos), C(constraint), and C(more), a list of further options of sbatch.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Plan a scaling run over four nodes
  benchmark_plan:
    workload: "{{ lookup('file', 'workloads/resnet50/workload.yml') | from_yaml }}"
    asked: {nodes: '4', preset: full}
    runs: /userhome/rackmark/runs
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
  returned: for a new run
software:
  description: Versions of what is used on this host.
  type: dict
  returned: for a new run
left_out:
  description: Nodes that cannot take jobs, each with the reason.
  type: list
  elements: str
  returned: for a new run
"""

import json
import platform
import shutil
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.run.job_script import SlurmOptions, sbatch_options
from ansible.module_utils.rackmark.run.job_state import QueueError
from ansible.module_utils.rackmark.run.place import SINFO_FORMAT, Place, place_in_slurm, place_without_slurm
from ansible.module_utils.rackmark.run.plan import Asked, RunPlan, as_data, make_plan
from ansible.module_utils.rackmark.run.run_folder import known_run, run_id_for
from ansible.module_utils.rackmark.run.slurm_queue import SlurmQueue, in_partition


def find_place(module: AnsibleModule) -> Place:
    params = module.params
    if params["launcher"] != "slurm":
        hosts = len(params["hosts"]) if params["launcher"] == "ssh" else 1
        return place_without_slurm(hosts, params["devices_per_node"], params["accelerator"], params["device"])
    if shutil.which("sinfo") is None:
        module.fail_json(
            msg=f"There is no Slurm on {platform.node()}: run 'ansible-playbook site.yml' first (playbooks/lab_up.yml"
            " boots a virtual cluster, -i names your own hosts), or try the workload here with -e launcher=local."
        )
    queue = SlurmQueue(module.run_command)
    partition = params["slurm"].get("partition") or queue.default_partition()
    command = ["sinfo", "--noheader", "--Node", f"--format={SINFO_FORMAT}", in_partition(partition)]
    status, output, error = module.run_command(command)
    if status != 0:
        module.fail_json(msg=f"Slurm does not answer sinfo: {error.strip()}. Is slurmctld running?")
    if partition and not output.strip():
        _, known, _ = module.run_command(["sinfo", "--noheader", "--format=%R"])
        module.fail_json(
            msg=f"Slurm shows no nodes in a partition {partition}: choose one of {', '.join(sorted(known.split()))}"
            " as benchmark_partition."
        )
    if queue.shares_nodes(partition):
        module.fail_json(
            msg=f"The partition {partition} shares nodes among jobs whatever they ask for (OverSubscribe=FORCE), so"
            " nothing can be measured on it: choose another one as benchmark_partition."
        )
    return place_in_slurm(output, params["devices_per_node"], params["device"], params["simulated"])


def versions(module: AnsibleModule) -> dict[str, str]:
    found = {"python": platform.python_version()}
    if module.params["launcher"] == "slurm":
        _, output, _ = module.run_command(["sinfo", "--version"])
        found["slurm"] = output.strip().partition(" ")[2] or output.strip()
    return found


def check_largest(module: AnsibleModule, plan: RunPlan) -> None:
    queue = SlurmQueue(module.run_command)
    largest = max(as_data(plan)["jobs"], key=lambda job: (job["nodes"], job["devices_per_node"]))
    queue.check(sbatch_options(largest, as_data(plan), SlurmOptions(**module.params["slurm"])))


def take_up(module: AnsibleModule, runs: Path) -> dict[str, Any]:
    run_id = module.params["run_id"]
    manifest = known_run(runs, run_id)
    content: dict[str, Any] = json.loads((runs / run_id / "manifest.json").read_text())
    asked = {name: value for name, value in module.params["asked"].items() if value and name != "preset"}
    other = {name: value for name, value in asked.items() if value != content["asked"].get(name)}
    if other:
        words = ", ".join(f"{name}={value}" for name, value in other.items())
        raise ValueError(f"run_id={run_id} takes the run up as it was planned: leave out {words}.")
    workload = module.params["workload"].get("name", manifest.workload)
    if manifest.workload != workload:
        raise ValueError(
            f"run_id={run_id} is a run of {manifest.workload}, and this playbook is for {workload}: take it up with"
            f" 'ansible-playbook playbooks/run.yml -e benchmark_workload={manifest.workload} -e run_id={run_id}'."
        )
    if content["launcher"] != module.params["launcher"]:  # its processes are on another host, and would be missed here
        raise ValueError(
            f"run_id={run_id} was begun with launcher={content['launcher']}: add -e launcher={content['launcher']}."
        )
    return content


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "workload": {"type": "dict", "default": {}},
            "asked": {"type": "dict", "default": {}},
            "settings": {"type": "dict", "default": {}},
            "flags": {"type": "list", "elements": "str", "default": []},
            "run_id": {"type": "str", "default": ""},
            "runs": {"type": "path", "required": True},
            "launcher": {"type": "str", "choices": ["slurm", "ssh", "local"], "default": "slurm"},
            "hosts": {"type": "list", "elements": "str", "default": []},
            "accelerator": {"type": "str", "choices": ["nvidia", "ascend", "none"], "default": "none"},
            "device": {"type": "str", "default": "auto"},
            "devices_per_node": {"type": "int", "default": 0},
            "simulated": {"type": "list", "elements": "str", "default": []},
            "slurm": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    params = module.params
    runs = Path(params["runs"])
    left_out: list[str] = []
    try:
        if params["run_id"]:
            plan = take_up(module, runs)
            module.exit_json(changed=False, plan=plan, sentence=f"Taking up {plan['run_id']}, begun {plan['started']}.")
        place = find_place(module)
        left_out = list(place.unfit)
        workload, asked = (
            params["workload"],
            Asked(**params["asked"], settings=params["settings"], flags=params["flags"]),
        )
        plan = make_plan(workload, asked, "run", place)  # everything is checked before a folder is made
        if params["launcher"] == "slurm":
            check_largest(module, plan)
        plan = make_plan(workload, asked, run_id_for(workload["name"], runs, reserve=not module.check_mode), place)
    except (ValueError, QueueError, OSError) as error:
        module.fail_json(msg=" ".join([str(error), *(f"{reason}." for reason in left_out)]))
    module.exit_json(
        changed=False,
        plan={**as_data(plan), "asked": params["asked"]},
        sentence=plan.sentence(),
        table=plan.table(),
        left_out=left_out,
        software=versions(module),
    )


if __name__ == "__main__":
    main()

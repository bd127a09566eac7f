#!/usr/bin/python
"""Ansible module: batch jobs handed to Slurm."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_submit
short_description: Submit batch scripts to Slurm, each once
description:
  - Writes every script into its folder as C(job.sh) and submits it.
  - A job whose name Slurm already knows is not submitted again.
options:
  jobs:
    description: The jobs.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Job name in Slurm, unique among them.
        type: str
        required: true
      folder:
        description: Folder of the job, made when it is missing.
        type: path
        required: true
      script:
        description: The batch script.
        type: str
        required: true
  one_at_a_time:
    description: Let every job wait until the one before it has ended, however it ended.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Submit one job
  slurm_submit:
    jobs:
      - name: hello
        folder: /userhome/rackmark/hello
        script: |
          #!/bin/bash
          srun hostname
"""

RETURN = r"""
job_ids:
  description: Slurm's number of every job, by name.
  type: dict
  returned: success
  sample: {hello: 12}
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

JOB = {
    "name": {"type": "str", "required": True},
    "folder": {"type": "path", "required": True},
    "script": {"type": "str", "required": True},
}


def known_jobs(module: AnsibleModule) -> dict[str, int]:
    status, output, error = module.run_command(["squeue", "--noheader", "--states=all", "--format=%i|%j"])
    if status != 0:
        module.fail_json(msg=f"Slurm cannot be asked for its jobs: {error.strip()}. Is slurmctld running?")
    rows = (line.split("|", 1) for line in output.splitlines())
    return {name: int(job_id) for job_id, name in rows if job_id.isdecimal()}


def submit(module: AnsibleModule, job: dict[str, str], after: int | None) -> int:
    folder = Path(job["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "job.sh"
    script.write_text(job["script"])
    options = ["--parsable", f"--job-name={job['name']}"]
    if after is not None:
        options.append(f"--dependency=afterany:{after}")
    status, output, error = module.run_command(["sbatch", *options, str(script)])
    if status != 0:
        module.fail_json(msg=f"Slurm refused {job['name']} ({script}): {error.strip()}")
    return int(output.strip().split(";")[0])


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "jobs": {"type": "list", "elements": "dict", "required": True, "options": JOB},
            "one_at_a_time": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    known = known_jobs(module)
    missing = [job for job in module.params["jobs"] if job["name"] not in known]
    if not module.check_mode:
        previous = None
        for job in module.params["jobs"]:
            name = job["name"]
            if name not in known:
                known[name] = submit(module, job, after=previous)
            previous = known[name] if module.params["one_at_a_time"] else None
    job_ids = {job["name"]: known[job["name"]] for job in module.params["jobs"] if job["name"] in known}
    module.exit_json(changed=bool(missing), job_ids=job_ids)


if __name__ == "__main__":
    main()

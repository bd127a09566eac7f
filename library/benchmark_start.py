#!/usr/bin/python
"""Ansible module: the folder of a run, and its jobs handed to Slurm or to a process of their own."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_start
short_description: Write the folder of a run and submit its jobs
description:
  - Writes manifest, training code, engine and one job script per repeat, and submits all jobs at once.
  - A run that is taken up again keeps its repeats that are ok or still running; the others run again, and what their
    earlier attempts left is kept beside.
  - In check mode nothing is written or submitted; the script of the largest job is returned.
options:
  plan:
    description: The plan, as M(benchmark_plan) returns it.
    type: dict
    required: true
  run_dir:
    description: Folder of the run, on storage that the nodes share.
    type: path
    required: true
  resume:
    description: The run was begun before.
    type: bool
    default: false
  files:
    description: Content of the training code and the engine, by path in the folder of the run.
    type: dict
    default: {}
  manifest:
    description: What the manifest says beside the plan.
    type: dict
    default: {}
  launch:
    description: >-
      How ranks are started, C(launcher), C(python), C(package), and optionally C(threads), C(hosts), C(image),
      C(shm_size), C(mounts), C(telemetry).
    type: dict
    required: true
  slurm:
    description: C(partition), C(account), C(qos), C(constraint), and C(more), a list of further options of sbatch.
    type: dict
    default: {}
  one_at_a_time:
    description: Let every job wait until the one before it has ended, however it ended.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Start the run
  benchmark_start:
    plan: "{{ planned.plan }}"
    run_dir: /userhome/rackmark/runs/{{ planned.plan.run_id }}
    files: {code/train.py: "{{ lookup('file', 'train.py') }}"}
    launch: {launcher: slurm, python: /usr/bin/python3, package: ''}
"""

RETURN = r"""
job_ids:
  description: Numbers of the jobs that were submitted, by name.
  type: dict
  returned: success
kept:
  description: Jobs of a run taken up again that are ok or still in the queue.
  type: list
  elements: str
  returned: success
script:
  description: Script of the largest job.
  type: str
  returned: in check mode
"""

import errno
import shutil
import sys
from pathlib import Path
from typing import Any, Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.report.summary import judge_run
from ansible.module_utils.rackmark.run.job_script import Launch, SlurmOptions, job_script
from ansible.module_utils.rackmark.run.job_state import JobState, QueueError
from ansible.module_utils.rackmark.run.manifest import read_manifest
from ansible.module_utils.rackmark.run.process_queue import ProcessQueue, QueuedJob
from ansible.module_utils.rackmark.run.run_folder import STOPPED, manifest_text, set_aside, write_new_file
from ansible.module_utils.rackmark.run.slurm_queue import SlurmQueue
from ansible.module_utils.rackmark.run.ssh_access import require_login

ROOM_FOR_THE_END = b" " * 4095 + b"\n"


def reserve_room(folder: Path) -> None:
    """The job writes down how it ended here, even where the disk is full by then."""
    (folder / ".end.json").write_bytes(ROOM_FOR_THE_END)


def write_folder(params: dict[str, Any], run_dir: Path, launch: Launch, slurm: SlurmOptions) -> None:
    for name, content in params["files"].items():
        write_new_file(run_dir / name, content)
    for job in params["plan"]["jobs"]:
        write_new_file(run_dir / job["folder"] / "job.sh", job_script(job, params["plan"], launch, slurm), 0o755)
        reserve_room(run_dir / job["folder"])
    # Last: a folder with a manifest can be taken up again.
    write_new_file(run_dir / "manifest.json", manifest_text(params["plan"], params["manifest"]))


def jobs_to_keep(run_dir: Path, jobs: list[dict[str, Any]], queue: SlurmQueue | ProcessQueue) -> dict[str, int | None]:
    """Those that are ok, and those that are still waiting or running with their numbers."""
    states = queue.states([job["name"] for job in jobs])
    kept: dict[str, int | None] = {name: state.job_id for name, state in states.items() if not state.finished}
    results = {
        (judged.result.case, judged.result.repeat): judged.result
        for judged in judge_run(run_dir, read_manifest(run_dir))
    }
    for job in jobs:
        if results[job["case"], job["repeat"]].state == "ok":
            kept.setdefault(job["name"], None)
    return kept


def make_way(run_dir: Path, jobs: list[dict[str, Any]]) -> None:
    """For another attempt at these jobs."""
    for job in jobs:
        set_aside(run_dir / job["folder"])
        reserve_room(run_dir / job["folder"])


def queued(run_dir: Path, jobs: list[dict[str, Any]], hosts: Sequence[str]) -> list[QueuedJob]:
    names = hosts or ["localhost"]
    return [QueuedJob(job["name"], run_dir / job["folder"], " ".join(names[: job["nodes"]])) for job in jobs]


def forget_unbegun(run_dir: Path) -> None:
    """Without a manifest there is nothing that could be taken up again."""
    if not (run_dir / "manifest.json").is_file():
        shutil.rmtree(run_dir, ignore_errors=True)


def explain(error: OSError, run_dir: Path) -> str:
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return str(error)
    forget_unbegun(run_dir)
    free = shutil.disk_usage(run_dir.parent).free // 2**20
    full = "The disk is full, or a quota is used up"
    return f"{full}: {free} MB are free in {run_dir.parent}. Free some space and run again."


def take_back(queue: SlurmQueue, ids: dict[str, int], error: QueueError) -> None:
    """A run is submitted as a whole or not at all."""
    try:
        queue.cancel({name: JobState(number, name, "PENDING") for name, number in ids.items()})
    except QueueError:
        raise QueueError(f"{error} {len(ids)} jobs are still queued: end them with playbooks/stop.yml.") from error


def submit_to_slurm(
    queue: SlurmQueue, run_dir: Path, jobs: list[dict[str, Any]], running: list[int], one_at_a_time: bool
) -> dict[str, int]:
    ids: dict[str, int] = {}
    previous = max(running, default=None) if one_at_a_time else None
    for job in jobs:
        try:
            if (run_dir / STOPPED).exists():
                raise QueueError("The run was stopped while its jobs were submitted.")
            ids[job["name"]] = queue.submit(job["name"], run_dir / job["folder"] / "job.sh", after=previous)
        except QueueError as error:
            take_back(queue, ids, error)
            raise
        previous = ids[job["name"]] if one_at_a_time else None
    return ids


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "plan": {"type": "dict", "required": True},
            "run_dir": {"type": "path", "required": True},
            "resume": {"type": "bool", "default": False},
            "files": {"type": "dict", "default": {}},
            "manifest": {"type": "dict", "default": {}},
            "launch": {"type": "dict", "required": True},
            "slurm": {"type": "dict", "default": {}},
            "one_at_a_time": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params = module.params
    run_dir, jobs = Path(params["run_dir"]), params["plan"]["jobs"]
    launch = Launch(run_dir=str(run_dir), engine_python=sys.executable, **params["launch"])
    slurm = SlurmOptions(**params["slurm"])
    if module.check_mode:
        largest = max(jobs, key=lambda job: (job["nodes"], job["devices_per_node"]))
        module.exit_json(changed=True, job_ids={}, kept=[], script=job_script(largest, params["plan"], launch, slurm))

    queue = SlurmQueue(module.run_command) if launch.launcher == "slurm" else ProcessQueue(run_dir)
    try:
        kept = jobs_to_keep(run_dir, jobs, queue) if params["resume"] else {}
        missing = [job for job in jobs if job["name"] not in kept]
        if launch.launcher == "ssh" and missing:
            require_login(launch.hosts[: max(job["nodes"] for job in missing)])
        if params["resume"]:
            (run_dir / STOPPED).unlink(missing_ok=True)
            make_way(run_dir, missing)
        else:
            write_folder(params, run_dir, launch, slurm)
        if isinstance(queue, SlurmQueue):
            running = [number for number in kept.values() if number is not None]
            ids = submit_to_slurm(queue, run_dir, missing, running, params["one_at_a_time"])
        else:
            ids = queue.submit(queued(run_dir, missing, launch.hosts)) if missing else {}
    except OSError as error:
        module.fail_json(msg=explain(error, run_dir))
    except (QueueError, ValueError) as error:
        forget_unbegun(run_dir)
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(missing), job_ids=ids, kept=sorted(kept))


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Ansible module: the folder of a run, and its jobs handed to a queue."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_start
short_description: Write the folder of a run and submit its jobs
description:
  - Writes manifest, training code, engine, and a job script and a record per repeat, and submits all jobs at once.
  - A run that is resumed keeps the jobs of O(keep) and those that still wait or run; the others run again, and what
    their earlier attempts left is kept beside. When another process has submitted jobs of it meanwhile, none is.
  - In check mode nothing is written or submitted; script and record of the largest job are returned.
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
    description: Content of the engine, by path in the folder of the run.
    type: dict
    default: {}
  code:
    description: The workload's files, as the filter C(packed_code) packs them.
    type: str
    default: ''
  manifest:
    description: What the manifest says beside the plan.
    type: dict
    default: {}
  launch:
    description: >-
      How ranks are started, C(launcher), C(python) and optionally C(hosts); and fields of a job's record of which the
      plan says nothing, such as C(package), C(threads), C(image).
    type: dict
    required: true
  options:
    description: What the launcher's queue is told, see M(benchmark_plan).
    type: dict
    default: {}
  secrets:
    description: What the launcher's queue has to know and nobody may read, such as the keys of a cloud.
    type: dict
    default: {}
  submit:
    description: Submit the jobs. Without it their folders are made ready, and the run can be resumed.
    type: bool
    default: true
  keep:
    description: Jobs of a run that is resumed which are not to run again, beside those that have not ended.
    type: list
    elements: str
    default: []
  submissions:
    description: How often its jobs had been submitted when O(keep) was found, see M(benchmark_jobs).
    type: int
    default: 0
  environment:
    description: What the environment of its ranks is made of, for the manifest; empty where none was made.
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
run_id:
  description: Name of the run whose jobs go on from now on, whatever becomes of the playbook.
  type: str
  returned: with O(submit), not in check mode
job_ids:
  description: Numbers of the jobs that were submitted, by name.
  type: dict
  returned: success
waiting:
  description: Jobs that nobody has submitted yet.
  type: list
  elements: str
  returned: success, not in check mode
kept:
  description: Jobs of a resumed run that do not run again.
  type: list
  elements: str
  returned: success
overtaken:
  description: Whether another process submitted jobs of the run meanwhile.
  type: bool
  returned: success
script:
  description: Script of the largest job.
  type: str
  returned: in check mode, where our engine runs it
request:
  description: What the queue is asked for the largest job.
  type: str
  returned: in check mode, where that is more than a script
program:
  description: Command that runs the program of the largest job.
  type: str
  returned: in check mode
record:
  description: Record of the largest job, with all that the programs around it need to know.
  type: str
  returned: in check mode
"""

import base64
import errno
import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence, Tuple

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark.node.code_digest import CODE, write_list
from ansible.module_utils.rackmark.node.job_record import FILE as RECORD
from ansible.module_utils.rackmark.node.job_record import JobRecord
from ansible.module_utils.rackmark.node.repeat_folder import JOB_SCRIPT, reserve, set_aside
from ansible.module_utils.rackmark.run.code_files import unpack
from ansible.module_utils.rackmark.run.job_end import is_over
from ansible.module_utils.rackmark.run.job_script import job_records, job_script, launch_of
from ansible.module_utils.rackmark.run.job_state import JobId, QueueError
from ansible.module_utils.rackmark.run.queues import queue_for
from ansible.module_utils.rackmark.run.queues.queue import Queue, QueuedJob, Setting, jobs_of
from ansible.module_utils.rackmark.run.run_folder import LIMITS, STOPPED, manifest_text, write_new_file
from ansible.module_utils.rackmark.run.submitting import count_submission, submissions, submitting

Scripts = Callable[[QueuedJob], Tuple[str, str]]  # script and record of a job; a queue without our engine has no script


def write_folder(params: dict[str, Any], run_dir: Path, jobs: Sequence[QueuedJob], scripts: Scripts) -> None:
    for name, content in params["files"].items():
        write_new_file(run_dir / name, content)
    manifest = params["manifest"]
    if params["code"]:
        names = unpack(base64.b64decode(params["code"]), run_dir / CODE)
        manifest = {**manifest, "code_digest": write_list(run_dir, names)}
    for job in jobs:
        write_job(job, *scripts(job))
    # Last: a folder with a manifest can be resumed.
    begun = {name: params[name] for name in ("launch", "options", "environment")}
    write_new_file(run_dir / "manifest.json", manifest_text(params["plan"], {**manifest, **begun}))


def write_job(job: QueuedJob, script: str, record: str) -> None:
    if script:
        write_new_file(job.folder / JOB_SCRIPT, script, 0o755)
    write_new_file(job.folder / RECORD, record)
    reserve(job.folder)


def make_way(jobs: Sequence[QueuedJob], scripts: Scripts | None) -> None:
    """For another attempt at these jobs. Without `scripts`, those of the first attempt serve."""
    for job in jobs:
        job.folder.mkdir(parents=True, exist_ok=True)
        set_aside(job.folder)
        if scripts is not None:
            write_job(job, *scripts(job))
        elif (job.folder / JOB_SCRIPT).is_file():
            reserve(job.folder)
        else:
            raise ValueError(
                f"{job.folder / JOB_SCRIPT} is gone, and of runs that an older version has begun it cannot be written"
                " again: begin a new run."
            )


def raise_limits(plan: Mapping[str, Any], run_dir: Path) -> None:
    """Of a run that is resumed with more time than before."""
    path = run_dir / "manifest.json"
    text = manifest_text(plan, {})
    if any(json.loads(path.read_text())[name] != plan[name] for name in LIMITS):
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").replace(path)


def described(queue: Queue, job: QueuedJob, record: JobRecord, scripts: Scripts) -> dict[str, str]:
    """What the job is, for who only looks."""
    request = queue.request(job, record)
    if request:
        return {"request": request}
    return {**dict(zip(("script", "record"), scripts(job))), "program": shlex.join(record.program)}


def forget_unbegun(run_dir: Path) -> None:
    """Without a manifest there is nothing that could be resumed."""
    if not (run_dir / "manifest.json").is_file():
        shutil.rmtree(run_dir, ignore_errors=True)


def explain(error: OSError, run_dir: Path) -> str:
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return str(error)
    forget_unbegun(run_dir)
    free = f"{shutil.disk_usage(run_dir.parent).free // 2**20} MB are free in {run_dir.parent}"
    return f"The disk is full, or a quota is used up: {free}. Free some space and run again."


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "plan": {"type": "dict", "required": True},
            "run_dir": {"type": "path", "required": True},
            "resume": {"type": "bool", "default": False},
            "files": {"type": "dict", "default": {}},
            "code": {"type": "str", "default": ""},
            "manifest": {"type": "dict", "default": {}},
            "launch": {"type": "dict", "required": True},
            "options": {"type": "dict", "default": {}},
            "secrets": {"type": "dict", "default": {}, "no_log": True},
            "submit": {"type": "bool", "default": True},
            "keep": {"type": "list", "elements": "str", "default": []},
            "submissions": {"type": "int", "default": 0},
            "environment": {"type": "dict", "default": {}},
            "one_at_a_time": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params = module.params
    run_dir = Path(params["run_dir"])
    jobs = jobs_of(params["plan"], run_dir)
    launch = launch_of(params["launch"], run_dir=str(run_dir), engine_python=sys.executable)
    setting = Setting(module.run_command, run_dir, launch.hosts, params["options"], params["secrets"])
    queue = queue_for(launch.launcher, setting)

    # Of a run that an older version began, nobody wrote down how its ranks are started by our engine.
    is_known = "launch" in params["plan"] or not params["resume"] or not queue.traits.engine
    records = job_records(params["plan"], launch) if is_known else None

    def scripts(job: QueuedJob) -> tuple[str, str]:
        assert records is not None
        script = job_script(job.folder, launch, queue.script_head(job)) if queue.traits.engine else ""
        return script, records[job.name].text()

    if module.check_mode:
        largest = max(jobs, key=QueuedJob.size)
        try:
            to_show = {} if records is None else described(queue, largest, records[largest.name], scripts)
        except (QueueError, ValueError) as error:
            module.fail_json(msg=str(error))
        module.exit_json(changed=True, job_ids={}, kept=[], overtaken=False, **to_show)

    resume = params["resume"]
    ids: dict[str, JobId] = {}
    try:
        with submitting(run_dir):
            overtaken = resume and submissions(run_dir) != params["submissions"]
            states = queue.states([job.name for job in jobs]) if resume else {}
            shown = {name: state for name, state in states.items() if not state.finished}
            unfinished = {job.name for job in jobs if job.name in shown and not is_over(job.folder, shown[job.name])}
            missing = [] if overtaken else [job for job in jobs if job.name not in {*unfinished, *params["keep"]}]
            queue.check_access(missing if params["submit"] else [])
            if resume:
                (run_dir / STOPPED).unlink(missing_ok=True)
                make_way(missing, scripts if records is not None else None)
                raise_limits(params["plan"], run_dir)
            else:
                write_folder(params, run_dir, jobs, scripts)
            if missing and params["submit"]:
                running = [shown[name].job_id for name in unfinished]
                ids = queue.submit(missing, running, params["one_at_a_time"], shown.keys() - unfinished)
                count_submission(run_dir)
    except OSError as error:
        module.fail_json(msg=explain(error, run_dir))
    except (QueueError, ValueError) as error:
        forget_unbegun(run_dir)
        module.fail_json(msg=str(error))
    waiting = [job.name for job in missing if job.name not in ids]
    kept = sorted({job.name for job in jobs} - ids.keys() - set(waiting))
    going_on = {"run_id": params["plan"]["run_id"]} if params["submit"] else {}
    said = {"job_ids": ids, "waiting": waiting, "kept": kept, "overtaken": overtaken, **going_on}
    module.exit_json(changed=bool(missing) or not resume, **said)


if __name__ == "__main__":
    main()

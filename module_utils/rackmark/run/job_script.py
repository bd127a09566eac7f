"""The script of a job, which tells its queue and starts the engine, and the record of what the engine is to do."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Sequence

from ..node.job_record import JobRecord
from .manifest import PlannedCase
from .run_plan import SYNTHETIC, Job, RunPlan, plan_from


@dataclass(frozen=True)
class Launch:
    """How ranks are started. `python` is the interpreter of the workload, in the image if there is one.

    `engine_python` runs the programs around the ranks, on all nodes. `more` are fields of the record of which the plan
    says nothing, by their names there.
    """

    launcher: str
    run_dir: str
    python: str
    engine_python: str = "python3"
    hosts: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


def launch_of(given: Mapping[str, Any], run_dir: str, engine_python: str) -> Launch:
    more = dict(given)
    launcher, python, hosts = more.pop("launcher"), more.pop("python"), more.pop("hosts", ())
    return Launch(launcher, run_dir, python, engine_python, hosts, more)


def job_script(folder: Path, launch: Launch, head: Sequence[str]) -> str:
    """`head` is what the queue wants to be told; all else stands in the record beside it."""
    lines = [
        "#!/bin/bash",
        *head,
        f"cd {shlex.quote(str(folder))} || exit 1",
        f"exec {shlex.quote(launch.engine_python)} {shlex.quote(launch.run_dir)}/engine/job.py",
    ]
    return "\n".join(lines) + "\n"


def job_records(plan: Mapping[str, Any], launch: Launch) -> dict[str, JobRecord]:
    """By the names of the jobs."""
    planned = plan_from(plan)
    cases = {case.case: case for case in planned.cases}
    return {job.name: _record(planned, cases[job.case], job, launch) for job in planned.jobs}


def _record(plan: RunPlan, case: PlannedCase, job: Job, launch: Launch) -> JobRecord:
    return JobRecord(
        name=job.name,
        case=job.case,
        repeat=job.repeat,
        launcher=launch.launcher,
        nodes=job.nodes,
        devices_per_node=job.devices_per_node,
        program=plan.program_of(job, launch.run_dir, launch.python),
        device=plan.device,
        minutes=plan.minutes,
        stalled_after=plan.stalled_after,
        accelerator=plan.accelerator,
        ranks=plan.ranks,
        meet=plan.meet,
        hosts=launch.hosts[: job.nodes],
        dataset="" if plan.data == SYNTHETIC else plan.data,
        data=plan.data_kind,
        data_package=plan.data_package,
        independent=plan.independent,
        duration=plan.duration,
        dialect=plan.dialect,
        measure=plan.measure,
        batch=case.batch_per_device,
        precision=case.precision,
        warmup=plan.warmup,
        steps=plan.steps,
        settings=plan.settings,
        **launch.more,
    )

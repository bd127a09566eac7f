"""What Slurm says of jobs, and how far the running ones are."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

_NOT_FINISHED = {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "REQUEUED", "RESIZING"}
_TAIL_BYTES = 4096


@dataclass(frozen=True)
class JobState:
    job_id: int
    name: str
    state: str
    reason: str | None
    exit_code: str | None
    nodes: str | None
    start: float | None
    end: float | None

    @property
    def finished(self) -> bool:
        return self.state not in _NOT_FINISHED


def parse_jobs(output: str) -> dict[str, JobState]:
    """Jobs by name, from `scontrol --oneliner show job`."""
    return {job.name: job for job in map(_parse_line, output.splitlines()) if job is not None}


def _parse_line(line: str) -> JobState | None:
    fields = dict(re.findall(r"(?:^| )(\w+)=(\S*)", line))
    if "JobId" not in fields or "JobState" not in fields:
        return None
    return JobState(
        job_id=int(fields["JobId"]),
        name=fields.get("JobName", ""),
        state=fields["JobState"],
        reason=_said(fields.get("Reason")),
        exit_code=_said(fields.get("ExitCode")),
        nodes=_said(fields.get("NodeList")),
        start=_moment(fields.get("StartTime")),
        end=_moment(fields.get("EndTime")),
    )


def _said(value: str | None) -> str | None:
    return None if value in (None, "", "None", "(null)", "N/A", "Unknown") else value


def _moment(value: str | None) -> float | None:
    try:
        return time.mktime(time.strptime(value or "", "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None


def progress(jobs: list[Mapping[str, Any]], states: Mapping[str, JobState]) -> str:
    """How far a run is, in one line."""
    running = [job for job in jobs if job["name"] in states and states[job["name"]].state == "RUNNING"]
    done = sum(job["name"] in states and states[job["name"]].finished for job in jobs)
    waiting = len(jobs) - done - len(running)
    parts = [f"{done} of {len(jobs)} jobs done"]
    parts += [f"{job['case']} r{job['repeat']} {_at_work(job)}" for job in running]
    if waiting:
        parts.append(f"{waiting} waiting")
    return "; ".join(parts)


def _at_work(job: Mapping[str, Any]) -> str:
    """Where rank 0 is, with the rate of its latest step times the number of ranks."""
    step = _last_step(Path(job["folder"]) / "rank-0.log")
    if step is None:
        return "starting"
    ranks = int(job["nodes"]) * int(job["devices_per_node"])
    rate = step["samples"] * ranks / step["seconds"]
    return f"step {step['step']}, {rate:.4g} samples/s"


def _last_step(log: Path) -> dict[str, Any] | None:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        if line.startswith("RACKMARK ") and '"step"' in line:
            try:
                event: dict[str, Any] = json.loads(line[len("RACKMARK ") :])
            except ValueError:  # half a line: the rank is writing it
                continue
            if event.get("event") == "step":
                return event
    return None

"""The phases of a training job in ModelArts, and what they are in words of our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..run.job_state import JobState

COMPLETED = "Completed"
ENDED = (COMPLETED, "Failed", "Terminated", "Abnormal")
_STATES: Mapping[str, str] = {
    "Creating": "PENDING",
    "Pending": "PENDING",
    "Running": "RUNNING",
    "Terminating": "COMPLETING",
    COMPLETED: "COMPLETED",
    "Failed": "FAILED",
    "Terminated": "CANCELLED",
    "Abnormal": "NODE_FAIL",
}
_STOPPED_BY_LIMIT = 0.999  # of the limit; ModelArts counts a little less than it grants


def job_state(name: str, job: Mapping[str, Any]) -> JobState:
    """`job` is as ModelArts answers; a phase that nobody knows is one that waits, and is named."""
    status, metadata = job.get("status") or {}, job.get("metadata") or {}
    phase = str(status.get("phase") or "")
    state = _STATES.get(phase, "PENDING")
    if phase == "Terminated" and _reached_limit(job):
        state = "TIMEOUT"
    start = _seconds(status.get("start_time")) or _seconds(metadata.get("create_time"))
    seconds = _seconds(status.get("duration")) or 0.0
    is_over = phase in ENDED
    return JobState(
        job_id=str(metadata.get("id")),
        name=name,
        state=state,
        reason=_reason(phase, str(status.get("secondary_phase") or ""), state),
        exit_code=_exit_code(status),
        nodes=None,
        start=start if state != "PENDING" else None,
        end=start + seconds if is_over and start is not None else None,
    )


def limit_in_hours(minutes: int) -> int:
    """ModelArts ends a job after whole hours; less than asked for would cut a run off."""
    return max(1, -(-minutes // 60))


def exit_codes(job: Mapping[str, Any]) -> dict[int, int]:
    """Of the workers that ended with one other than 0, or whose code ModelArts says."""
    found = {}
    for task in (job.get("status") or {}).get("task_statuses") or []:
        number = str(task.get("task") or "").rpartition("-")[2]
        if number.isdecimal() and isinstance(task.get("exit_code"), int):
            found[int(number)] = task["exit_code"]
    return found


def message_of(job: Mapping[str, Any]) -> str:
    """What ModelArts says of the end of the first worker that failed, or of the job."""
    status = job.get("status") or {}
    said = [str(task["message"]) for task in status.get("task_statuses") or [] if task.get("message")]
    return " ".join((said or [str(status.get("message") or "")])[0].split())


def _reason(phase: str, secondary: str, state: str) -> str | None:
    if phase and phase not in _STATES:
        return f"ModelArts says {phase}, a phase that is not known here"
    if state == "PENDING":
        return f"{phase}, {secondary}" if secondary and secondary != phase else phase or "ModelArts says no phase"
    return None


def _reached_limit(job: Mapping[str, Any]) -> bool:
    stop = (job.get("spec") or {}).get("auto_stop") or {}
    seconds = _seconds((job.get("status") or {}).get("duration"))
    per_unit = {"HOURS": 3600, "MINUTES": 60}.get(str(stop.get("time_unit") or "").upper())
    limit = stop.get("duration")
    if not per_unit or not isinstance(limit, (int, float)) or seconds is None:
        return False
    return seconds >= limit * per_unit * _STOPPED_BY_LIMIT


def _exit_code(status: Mapping[str, Any]) -> str | None:
    codes = [task.get("exit_code") for task in status.get("task_statuses") or []]
    return next((str(code) for code in codes if isinstance(code, int) and code), None)


def _seconds(milliseconds: object) -> float | None:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)) or milliseconds <= 0:
        return None
    return milliseconds / 1000

"""What is known of a job: the same words for Slurm's jobs and for those that run without it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Mapping, Union

JobId = Union[int, str]  # a cloud has no numbers

RECORD = "job.json"
END = "end.json"

# Words of our own for jobs that were cancelled because they could not start: never, or not without nodes that are lost.
GIVEN_UP_HOPELESS = "NEVER_STARTED"
GIVEN_UP_NODES = "NODES_MISSING"
GIVEN_UP: Mapping[str, str] = {GIVEN_UP_HOPELESS: "launch_failed", GIVEN_UP_NODES: "node_fail"}

# Slurm's words, used for jobs of every queue: for those that are not over,
_NOT_FINISHED = {
    *("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "STAGE_OUT", "SIGNALING"),
    *("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESIZING", "RESV_DEL_HOLD"),
}
# for jobs of which more has to be known,
ENDED_BY_THEMSELVES = ("COMPLETED", "FAILED", "OUT_OF_MEMORY")
# and for those that were ended: the state of their repeat, and a sentence.
ENDED: Mapping[str, tuple[str, str]] = {
    "CANCELLED": ("cancelled", "The job was cancelled."),
    "PREEMPTED": ("cancelled", "The job was cancelled in favour of another one."),
    "TIMEOUT": ("timeout", "The job reached its time limit."),
    "DEADLINE": ("timeout", "The job reached its deadline."),
    "NODE_FAIL": ("node_fail", "A node failed while the job ran."),
    "BOOT_FAIL": ("node_fail", "A node did not boot for the job."),
}


class QueueError(Exception):
    """The queue does not answer, or refuses a job: a sentence."""


@dataclass(frozen=True)
class JobState:
    """`node_reasons` says of nodes of the job why they are out of service."""

    job_id: JobId
    name: str
    state: str
    reason: str | None = None
    exit_code: str | None = None
    nodes: str | None = None
    start: float | None = None
    end: float | None = None
    node_reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        return self.state not in _NOT_FINISHED


def read_state(folder: Path) -> JobState | None:
    """What was written down of the job of this folder."""
    try:
        return state_of(json.loads((folder / RECORD).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def state_of(record: Mapping[str, Any]) -> JobState:
    """From what asdict() made of it, by this or another version."""
    return JobState(**{known.name: record[known.name] for known in fields(JobState) if known.name in record})


def write_state(folder: Path, state: JobState) -> None:
    """A reader sees the old record or the new one."""
    temporary = folder / f".{RECORD}"
    temporary.write_text(json.dumps(asdict(state)) + "\n")
    temporary.replace(folder / RECORD)

"""What is known of a job: the same words for Slurm's jobs and for those that run without it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Mapping

RECORD = "job.json"
END = "end.json"

# Words of our own for jobs that were cancelled because they could not start: never, or not without nodes that are lost.
GIVEN_UP_HOPELESS = "NEVER_STARTED"
GIVEN_UP_NODES = "NODES_MISSING"

_NOT_FINISHED = {
    *("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "STAGE_OUT", "SIGNALING"),
    *("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESIZING", "RESV_DEL_HOLD"),
}


class QueueError(Exception):
    """The queue does not answer, or refuses a job: a sentence."""


@dataclass(frozen=True)
class JobState:
    """`node_reasons` says of nodes of the job why they are out of service."""

    job_id: int
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
        record = json.loads((folder / RECORD).read_text())
        return JobState(**{known.name: record[known.name] for known in fields(JobState) if known.name in record})
    except (OSError, ValueError, TypeError):
        return None


def write_state(folder: Path, state: JobState) -> None:
    """A reader sees the old record or the new one."""
    temporary = folder / f".{RECORD}"
    temporary.write_text(json.dumps(asdict(state)) + "\n")
    temporary.replace(folder / RECORD)


def ended_by_itself(folder: Path) -> bool:
    """The job wrote its end down: whatever its queue says a moment later, it is over."""
    return (folder / END).exists()

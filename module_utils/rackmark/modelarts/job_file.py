"""modelarts.json: what was asked of ModelArts for a repeat, and what it answered, in the folder of the repeat."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

FILE = "modelarts.json"


@dataclass(frozen=True)
class JobFile:
    """`attempt` is the number of the attempt, `job_id` empty until ModelArts has said it. `phases` have the time at
    which each was first seen by who followed the job."""

    name: str
    attempt: int
    request: Mapping[str, Any]
    simulated: list[str] = field(default_factory=list)
    job_id: str = ""
    phases: list[dict[str, Any]] = field(default_factory=list)

    def seen(self, phase: str) -> JobFile:
        if not phase or (self.phases and self.phases[-1]["phase"] == phase):
            return self
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return replace(self, phases=[*self.phases, {"phase": phase, "seen": moment}])


def read_job_file(folder: Path) -> JobFile | None:
    try:
        content = json.loads((folder / FILE).read_text())
        return JobFile(**{each.name: content[each.name] for each in fields(JobFile) if each.name in content})
    except (OSError, ValueError, TypeError):
        return None


def write_job_file(folder: Path, record: JobFile) -> None:
    """A reader sees the old one or the new one."""
    temporary = folder / f".{FILE}"
    temporary.write_text(json.dumps(asdict(record), indent=1) + "\n")
    temporary.replace(folder / FILE)

"""What a job has left in the object store, brought to the folder of its repeat."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..node.repeat_folder import END
from ..node.states import FAILED, OK
from ..run.job_state import JobState
from .phases import exit_codes, message_of
from .store import Store

OUT, LOG = "out", "log"
_WORKER_LOG = re.compile(r"(?:.*[^0-9A-Za-z])?worker-(\d{1,5})\.log")
# What our own boot file writes; other trainings leave files of their own.
_OF_RANKS = re.compile(r"rank-\d{1,6}\.(?:log|exit)")


def bring_back(store: Store, bucket: str, prefix: str, folder: Path, shown: Mapping[str, Any], state: JobState) -> None:
    """`shown` is what ModelArts says of the job, empty where it no longer does."""
    store.fetch(bucket, f"{prefix}/{OUT}/", folder / OUT)
    store.fetch(bucket, f"{prefix}/{LOG}/", folder / LOG)
    for path in sorted((folder / LOG).rglob("*.log")):
        match = _WORKER_LOG.fullmatch(path.name)
        if match is not None:
            path.replace(folder / f"worker-{match[1]}.log")
    for path in sorted((folder / OUT).glob("rank-*")):
        if _OF_RANKS.fullmatch(path.name):
            path.replace(folder / path.name)
    _write_end(folder, shown, state)


def _write_end(folder: Path, shown: Mapping[str, Any], state: JobState) -> None:
    """As ModelArts tells it: nothing of ours was on its servers."""
    end = {
        "state": OK if state.state == "COMPLETED" else FAILED,
        "by": "ModelArts",
        "reason": message_of(shown),
        "exit_codes": {str(number): code for number, code in sorted(exit_codes(shown).items())},
        "started": state.start,
        "ended": state.end,
    }
    (folder / END).write_text(json.dumps(end) + "\n")

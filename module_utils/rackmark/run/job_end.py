"""Whether a job is over, by what its queue shows and what it wrote down of its end, with time.

A dead node holds its job in the queue for minutes after its end, and so do processes that outlive their guard. A job
that was put back by force runs again, whatever it wrote down before.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Mapping

from .job_state import END, JobState

SETTLING = 15.0  # seconds that a queue gets to show as ended what has written its end down
ENDING = 60.0  # and to end a job: Slurm kills after 30 s what does not go by itself


def end_of(folder: Path) -> Mapping[str, Any] | None:
    """What the job wrote down. Raises OSError where the folder cannot be read."""
    path = folder / END
    try:
        path.stat()  # which every version of Python lets fail where the folder is closed
        end = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except ValueError:
        return {}
    return end if isinstance(end, dict) else {}


def is_over(folder: Path, state: JobState | None) -> bool:
    """Raises OSError where the folder cannot be read."""
    end, now = end_of(folder), time.time()
    if state is None or state.finished:
        return True
    if state.state == "COMPLETING":
        if end is None:
            return state.end is not None and now - state.end > ENDING
        # Which is what a job writes that is put back by force, too.
        return end.get("state") != "cancelled" or now - _ended(end) > ENDING
    if state.state != "RUNNING" or end is None:
        return False
    began_again = state.start is not None and state.start >= _ended(end) > 0
    return not began_again and now - _ended(end) > SETTLING


def own_word(folder: Path, state: JobState) -> JobState | None:
    """The last word on a job that is over and that its queue still shows; None where its own record says more."""
    end = end_of(folder)
    if state.state == "RUNNING" and end is not None:
        status = end.get("exit_status")
        word = "COMPLETED" if status == 0 else "FAILED"
        return replace(state, state=word, reason="it wrote its end down, and its queue still showed it as running")
    if state.state == "COMPLETING" and end is None:
        word = "NODE_FAIL" if state.node_reasons else "FAILED"
        return replace(state, state=word, reason="it left no record of its end, and its queue did not get it ended")
    return None


def _ended(end: Mapping[str, Any]) -> float:
    ended = end.get("ended")
    return float(ended) if isinstance(ended, (int, float)) else 0.0

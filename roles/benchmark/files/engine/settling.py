"""Leaves nodes alone for a while after a job that ended badly there: Ascend's driver fails jobs that follow too soon.

A mark for each node, beside the folders of the runs, says when that was. Jobs of other people leave none.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Sequence

from rackmark.node.job_record import JobRecord
from rackmark.node.states import OK

MARKS = Path(__file__).resolve().parent.parent.parent / ".settling"
_NOT_BEGUN = ("preflight_failed",)


def seconds_to_settle(nodes: Sequence[str], record: JobRecord, marks: Path = MARKS) -> tuple[float, str]:
    """How long to wait, and for which node. A mark of the future is one of a clock that was set since."""
    longest, node = 0.0, ""
    for name in nodes:
        with suppress(OSError, ValueError):
            passed = max(0.0, time.time() - float((marks / name).read_text()))
            if record.settle - passed > longest:
                longest, node = record.settle - passed, name
    return longest, node


def note_end(nodes: Sequence[str], record: JobRecord, state: str, marks: Path = MARKS) -> None:
    if state == OK or state in _NOT_BEGUN or not (record.settle or record.accelerator == "ascend"):
        return
    with suppress(OSError):  # a full disk has its own sentence
        marks.mkdir(exist_ok=True)
        for name in nodes:
            (marks / name).write_text(f"{time.time()}\n")

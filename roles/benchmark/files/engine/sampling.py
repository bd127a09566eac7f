"""The sampler of a node, from the side of the program that runs ranks there: begun before them and ended after them.

Nothing that becomes of the sampler reaches the ranks. Where it did not end by itself, its file says how.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator

from rackmark.node.job_record import JobRecord
from rackmark.node.processes import die_with_parent

SECONDS_TO_END = 2.0
SECONDS_TO_BE_KILLED = 0.5


def telemetry_file(node: str) -> Path:
    """In the folder of the repeat."""
    return Path(f"telemetry-{node}.jsonl")


@contextmanager
def sampled(record: JobRecord | None, node: str) -> Iterator[None]:
    """Nothing is sampled without a record, and where the record says so."""
    sampler = _start(node) if record is not None and record.telemetry else None
    try:
        yield
    finally:
        if sampler is not None:
            _end(sampler, telemetry_file(node))


def _start(node: str) -> subprocess.Popen[bytes] | None:
    with suppress(OSError):  # the file that is missing says it
        return subprocess.Popen(
            [sys.executable, "-SE", str(Path(__file__).with_name("sampler.py")), "--node", node],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )
    return None


def _end(sampler: subprocess.Popen[bytes], file: Path) -> None:
    with suppress(OSError):
        if sampler.stdin is not None:
            sampler.stdin.close()
    try:
        sampler.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(sampler.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # it waits for a driver or a file server, and its parent does not
            sampler.wait(SECONDS_TO_BE_KILLED)
        _note(file, f"The sampler did not end within {SECONDS_TO_END:g} s and was killed.")
        return
    if sampler.returncode < 0:
        _note(file, f"The sampler was ended by {signal.Signals(-sampler.returncode).name}.")
    elif sampler.returncode > 0:
        _note(file, f"The sampler ended with exit status {sampler.returncode}.")


def _note(file: Path, reason: str) -> None:
    """Begins a line of its own: the last one may be torn."""
    with suppress(OSError), file.open("a") as telemetry:
        telemetry.write("\n" + json.dumps({"ms": round(time.time() * 1000), "end": reason}) + "\n")

"""Runs the jobs of a run one after the other where there is no Slurm, and writes down how each is.

Jobs of other runs beside this one are waited for: two at the same time would measure each other.
Ends only its own children: SIGTERM is handed to the job that runs, and what has not begun is cancelled.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Iterator

from rackmark.node.processes import die_with_parent

RECORD = "job.json"
LOCK, LINE = ".turn", ".line"


class StoppedError(Exception):
    """Someone ended the run."""


def write(folder: Path, record: dict[str, Any]) -> None:
    """On a full disk the job's own record of its end, for which there is room, has to do."""
    temporary = folder / f".{RECORD}"
    with suppress(OSError):
        temporary.write_text(json.dumps(record) + "\n")
        temporary.replace(folder / RECORD)


def run(number: int, name: str, folder: Path, hosts: str) -> None:
    record = {"job_id": number, "name": name, "state": "RUNNING", "nodes": hosts, "start": time.time()}
    write(folder, record)
    with (folder / "slurm.log").open("ab") as log:
        job = subprocess.Popen(
            ["bash", str(folder / "job.sh")],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "RACKMARK_JOB_ID": str(number)},
            preexec_fn=die_with_parent(),
        )
        try:
            status = job.wait()
        except StoppedError:
            job.terminate()
            status = job.wait()
            write(folder, {**record, "state": "CANCELLED", "exit_code": str(status), "end": time.time()})
            raise
    state = "COMPLETED" if status == 0 else "FAILED"
    write(folder, {**record, "state": state, "exit_code": str(status), "end": time.time()})


@contextmanager
def turn(lock: Path) -> Iterator[None]:
    """Held by one job at a time, of all runs. Who waits holds the line, so that the jobs of two runs alternate."""
    with ExitStack() as held:
        with suppress(OSError), lock.with_name(LINE).open("a") as line:  # storage may know no locks
            fcntl.flock(line, fcntl.LOCK_EX)
            fcntl.flock(held.enter_context(lock.open("a")), fcntl.LOCK_EX)
        yield


def stop(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise StoppedError


def main(queue_file: Path) -> None:
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    queue = json.loads(queue_file.read_text())
    jobs = [job for job in queue["jobs"] if job["name"] in queue["to_run"]]
    begun = set()
    try:
        for job in jobs:
            with turn(queue_file.parents[2] / LOCK):
                begun.add(job["name"])
                run(job["job_id"], job["name"], Path(job["folder"]), job["hosts"])
    except StoppedError:
        for job in jobs:
            if job["name"] not in begun:
                write(Path(job["folder"]), {"job_id": job["job_id"], "name": job["name"], "state": "CANCELLED"})


if __name__ == "__main__":
    main(Path(sys.argv[1]))

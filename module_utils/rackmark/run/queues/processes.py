"""Queues without a scheduler: a process of its own runs the jobs of a run one after the other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Collection, Iterable, Mapping, Sequence

from ...node.job_record import JobRecord
from ..job_state import JobId, JobState, QueueError, read_state
from .queue import QueuedJob, Setting, Stuck

QUEUE = "queue.json"
RUNNER = "queue_runner.py"
PATIENCE = 30.0


class ProcessQueue:
    """`queue.json` in the run's folder says which jobs were asked for, and which process runs which of them."""

    def __init__(self, setting: Setting) -> None:
        self._run_dir = setting.run_dir
        self._hosts = list(setting.hosts)

    def versions(self) -> Mapping[str, str]:
        return {}

    def check(self, largest: QueuedJob) -> None:
        """There is nobody to refuse it."""

    def check_access(self, jobs: Sequence[QueuedJob]) -> None:
        """What troubles there are, the preflight names."""

    def script_head(self, _job: QueuedJob) -> Sequence[str]:
        return []

    def request(self, _job: QueuedJob, _record: JobRecord) -> str:
        return ""

    def states(self, names: Iterable[str]) -> dict[str, JobState]:
        queue = self._read()
        alive = self._alive(queue)
        wanted = set(names)
        states = {}
        for job in queue.get("jobs", ()):
            if job["name"] in wanted:
                states[job["name"]] = _state(job, alive)
        return states

    def remembered(self, _names: Iterable[str]) -> dict[str, JobState]:
        return {}

    def hopeless(self, _states: Mapping[str, JobState]) -> Mapping[str, str]:
        return {}

    def stuck(self, _jobs: Sequence[QueuedJob], _states: Mapping[str, JobState]) -> Mapping[str, Stuck]:
        return {}

    def last_word(self, _state: JobState) -> None:
        """The process that runs the jobs writes it."""

    def submit(
        self,
        jobs: Sequence[QueuedJob],
        running: Sequence[JobId] = (),
        one_at_a_time: bool = True,
        leftovers: Collection[str] = (),
    ) -> dict[str, JobId]:
        """Starts the process that runs these jobs; it lives on when this one ends."""
        if self._alive(self._read()):
            raise QueueError(f"The jobs of {self._run_dir.name} are being run already: wait for them, or stop the run.")
        first = int(time.time())
        entries: list[dict[str, Any]] = [
            {"job_id": first + place, "name": job.name, "folder": str(job.folder), "hosts": self._hosts_of(job)}
            for place, job in enumerate(jobs)
        ]
        known = {entry["name"]: entry for entry in (*self._read().get("jobs", ()), *entries)}
        content = {"jobs": list(known.values()), "to_run": [entry["name"] for entry in entries]}
        self._write(content)
        with (self._run_dir / "queue.log").open("ab") as log:
            runner = subprocess.Popen(
                [sys.executable, str(self._run_dir / "engine" / RUNNER), str(self._run_dir / QUEUE)],
                cwd=self._run_dir,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._write({"pid": runner.pid, "began": _began(runner.pid), **content})
        return {entry["name"]: entry["job_id"] for entry in entries}

    def cancel(self, states: Mapping[str, JobState]) -> None:
        """Ends the process that runs the jobs, and with it the job that runs: there is no ending one of them alone."""
        queue = self._read()
        if all(state.finished for state in states.values()) or not self._alive(queue):
            return
        os.kill(queue["pid"], signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while self._alive(queue):
            if time.monotonic() > deadline:
                raise QueueError(
                    f"Process {queue['pid']}, which runs the jobs, has not ended {PATIENCE:.0f} s after SIGTERM."
                )
            time.sleep(0.1)

    def _hosts_of(self, job: QueuedJob) -> str:
        raise NotImplementedError

    def _read(self) -> dict[str, Any]:
        try:
            content: dict[str, Any] = json.loads((self._run_dir / QUEUE).read_text())
        except (OSError, ValueError):
            return {}
        return content

    def _write(self, content: Mapping[str, Any]) -> None:
        temporary = self._run_dir / f".{QUEUE}"
        temporary.write_text(json.dumps(content) + "\n")
        temporary.replace(self._run_dir / QUEUE)

    @staticmethod
    def _alive(queue: Mapping[str, Any]) -> bool:
        """A process number may be used again, so the time of its start has to fit as well."""
        return "pid" in queue and queue.get("began") is not None and _began(queue["pid"]) == queue["began"]


def _state(job: Mapping[str, Any], alive: bool) -> JobState:
    state = read_state(Path(job["folder"]))
    if state is None or state.job_id != job["job_id"]:
        if alive:
            return JobState(job["job_id"], job["name"], "PENDING", reason="Priority")
        return JobState(
            job["job_id"], job["name"], "CANCELLED", reason="the process that runs the jobs ended before it"
        )
    if not state.finished and not alive:
        reason = "the process that runs the jobs ended while it ran"
        return JobState(state.job_id, state.name, "NODE_FAIL", reason, nodes=state.nodes, start=state.start)
    return state


def _began(pid: int) -> int | None:
    """When the process started, in ticks since the machine did; None for none and for one that is over."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])

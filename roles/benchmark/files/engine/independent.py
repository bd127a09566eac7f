"""Nodes that work by themselves: each shows that it lives, and the last one ends a job whose first node was lost.

Slurm keeps a job whose first node died for as long as other nodes have work (--no-kill), and after that until its time
limit, for the program that would have ended it is gone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping

from allocation import Allocation, exit_of
from outcome import outcome_of_nodes
from rackmark.node.job_record import JobRecord
from rackmark.node.processes import Events
from rackmark.node.repeat_folder import END, write_end

FOLDER = "alive"
JOB = "job"
SECONDS_BETWEEN_BEATS = 5.0
SECONDS_UNTIL_LOST = 30.0
SECONDS_TO_CANCEL = 60


def beat(folder: Path, name: str, facts: Mapping[str, Any]) -> None:
    """A reader sees the old beat or the new one. On a full disk there is none, and the job goes on."""
    path = folder / FOLDER / name
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        temporary = path.with_name(f".{name}")
        temporary.write_text(json.dumps({**facts, "beat": time.time()}) + "\n")
        temporary.replace(path)


class Pulse:
    """Whether somebody's beats change, by this node's own clock: those of others may be wrong."""

    def __init__(self, folder: Path, name: str) -> None:
        self.facts: Mapping[str, Any] = {}
        self._path = folder / FOLDER / name
        self._seen = time.monotonic()

    def look(self) -> bool:
        """Whether there is a new one; the first that is seen may be old."""
        with suppress(OSError, ValueError):
            found = json.loads(self._path.read_text())
            if found != self.facts:
                is_new, self.facts, self._seen = bool(self.facts), found, time.monotonic()
                return is_new
        return False

    @property
    def is_lost(self) -> bool:
        return time.monotonic() - self._seen > SECONDS_UNTIL_LOST


class Member:
    """This node of the job. `number` is the job's in Slurm."""

    def __init__(self, folder: Path, record: JobRecord, place: int, number: str) -> None:
        self._folder, self._record, self._place, self._number = folder, record, place, number
        self._job = Pulse(folder, JOB)
        self._next = 0.0

    def seconds_to_beat(self) -> float:
        return max(0.0, self._next - time.monotonic())

    def beat(self) -> None:
        if self.seconds_to_beat() == 0:
            self._next = time.monotonic() + SECONDS_BETWEEN_BEATS
            beat(self._folder, f"node-{self._place}", {})
            self._job.look()

    def leave(self, events: Events) -> None:
        """To be called when the node's own work has ended. The last node ends a job that nobody else can end."""
        others = {place: Pulse(self._folder, f"node-{place}") for place in range(self._record.nodes)}
        if shutil.which("scancel") is None or self._job_lives(events, others.values()):
            return
        self._wait(events, lambda: all(self._has_ended(place, pulse) for place, pulse in others.items()))
        if events.stop is None and not (self._folder / END).exists():
            self._end()

    def _job_lives(self, events: Events, others: Iterable[Pulse]) -> bool:
        """It may have been lost a moment ago: only its next beat tells. Until then those of the others are watched."""
        doubtful = time.monotonic() + SECONDS_BETWEEN_BEATS
        while events.stop is None and not self._job.is_lost:
            if self._job.look() or END in _names(self._folder):
                return True
            if time.monotonic() > doubtful:
                for pulse in others:
                    pulse.look()
            events.wait(1.0)
        return events.stop is not None

    def _has_ended(self, place: int, pulse: Pulse) -> bool:
        pulse.look()
        return place == self._place or exit_of(place) in _names(self._folder) or pulse.is_lost

    def _wait(self, events: Events, done: Callable[[], bool]) -> None:
        while events.stop is None and not done():
            events.wait(1.0)
            self.beat()

    def _end(self) -> None:
        facts = self._job.facts
        nodes = [str(name) for name in facts.get("nodes", ())]
        job = Allocation(self._number, self._folder, nodes, self._record)
        ending = outcome_of_nodes(job)
        end = {
            **{name: facts.get(name) for name in ("schema", "started", "attempt", "nodes")},
            "state": ending.state,
            "reason": f"{ending.reason or ''} {nodes[self._place]} ended the job, as {nodes[0]} could not.".strip(),
            "exit_status": ending.exit_status,
            "ended": time.time(),
            "first_failed": ending.first_failed,
            "ended_by": nodes[self._place],
        }
        write_end(self._folder, end)
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(["scancel", self._number], check=False, timeout=SECONDS_TO_CANCEL)


def _names(folder: Path) -> set[str]:
    """Asked for a file that is not there, NFS remembers that for a minute."""
    try:
        return {path.name for path in folder.iterdir()}
    except OSError:
        return set()

"""Processes that are forked from this one, to have what it has loaded, and whose end is no harm to it.

A group of them ends together, and with this process. What each says are lines of JSON in one pipe; an empty line only
says that it goes on.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from contextlib import suppress
from typing import Any, Callable, Mapping, NoReturn, Sequence

from rackmark.node.processes import die_with_parent

_BEAT = 0.2  # seconds between two signs of life
_CHUNK = 1 << 16


class Report:
    """Where a forked process says how it goes. Lines of up to 4 kB stay whole, whoever else writes."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._last = 0.0

    def say(self, **facts: object) -> None:
        rest = memoryview(json.dumps(facts, separators=(",", ":")).encode() + b"\n")
        while rest:
            rest = rest[os.write(self._pipe, rest) :]

    def beat(self) -> None:
        now = time.monotonic()
        if now - self._last >= _BEAT:
            self._last = now
            os.write(self._pipe, b"\n")


class Group:
    """`ends` are those of its processes, by their place."""

    def __init__(self, runs: Sequence[Callable[[Report], None]], niceness: int = 0) -> None:
        """What a run raises ends its process, with a traceback and status 1."""
        sys.stdout.flush()
        self.pipe, writing = os.pipe()
        os.set_blocking(self.pipe, False)
        self.ends: dict[int, os.waitid_result] = {}
        self.ended = False
        self._rest = b""
        self._pids: list[int] = []
        for run in runs:
            self._pids.append(self._fork(run, writing, niceness))
        os.close(writing)

    def _fork(self, run: Callable[[Report], None], writing: int, niceness: int) -> int:
        arrange, leader = die_with_parent(), self._pids[0] if self._pids else 0
        pid = os.fork()
        if not pid:
            self._be_child(run, writing, niceness, arrange, leader)
        with suppress(OSError):  # it has done so itself
            os.setpgid(pid, leader)
        return pid

    def _be_child(
        self, run: Callable[[Report], None], writing: int, niceness: int, arrange: Callable[[], None], leader: int
    ) -> NoReturn:
        try:
            arrange()
            os.setpgid(0, leader)
            os.close(self.pipe)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            os.nice(niceness)
            run(Report(writing))
        except BaseException:
            with suppress(OSError):
                traceback.print_exc()
            leave(1)
        leave(0)
        return None

    def read(self) -> list[Mapping[str, Any]]:
        """What has been said since; empty ones are signs of life."""
        self._look_for_ends()  # first, so that all is read that those who have ended said
        with suppress(BlockingIOError):
            while not self.ended:
                data = os.read(self.pipe, _CHUNK)
                self.ended = not data
                self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        return [json.loads(line) if line else {} for line in lines]

    def wait(self) -> list[Mapping[str, Any]]:
        """All that is said until the end; nothing if a process failed."""
        said: list[Mapping[str, Any]] = []
        while not self.ended:
            select.select([self.pipe], [], [])
            said += [each for each in self.read() if each]
        self.close()
        return [] if self.failed() is not None else said

    def failed(self) -> int | None:
        """The place of a process that ended otherwise than well."""
        return next((place for place, end in self.ends.items() if end.si_status), None)

    def ask_to_end(self) -> None:
        """The processes that were forked here, and not what they have started, which they may still need."""
        for place, pid in enumerate(self._pids):
            if place not in self.ends:
                with suppress(OSError):
                    os.kill(pid, signal.SIGTERM)

    def close(self) -> None:
        """Kills what is left of it, also of what its processes have started."""
        if self.pipe < 0:
            return
        with suppress(OSError):
            os.killpg(self._pids[0], signal.SIGKILL)
        for place, pid in enumerate(self._pids):
            self.ends[place] = _end_of(pid, os.WEXITED) or self.ends[place]
        os.close(self.pipe)
        self.pipe = -1

    def _look_for_ends(self) -> None:
        """Processes that have ended stay in the kernel's table, so that the group keeps its number for itself."""
        for place, pid in enumerate(self._pids):
            end = None if place in self.ends else _end_of(pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if end:
                self.ends[place] = end


def _end_of(pid: int, options: int) -> os.waitid_result | None:
    return os.waitid(os.P_PID, pid, options)


def how_it_ended(end: os.waitid_result) -> str:
    if end.si_code != os.CLD_EXITED:
        name = signal.Signals(end.si_status).name
        by = ": by somebody, or by the kernel for want of memory" if name == "SIGKILL" else ""
        return f"was ended by {name}{by}"
    return f"ended with status {end.si_status}"


def leave(status: int) -> NoReturn:
    """Without the clean-up of the interpreter, which is this process' parent's."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def settle() -> None:
    """Once all is loaded: what there is now stays in memory that all forked processes share."""
    gc.collect()
    gc.freeze()

"""Children that cannot outlive their parent, and waiting for several things at once."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Callable, Iterable, Sequence

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_PR_SET_PDEATHSIG = 1
_SECONDS_TO_BE_KILLED = 5


class Events:
    """Ends of children and requests to stop, as something that is waited for together with files."""

    def __init__(self) -> None:
        self.stop: signal.Signals | None = None
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *STOP_SIGNALS):
            signal.signal(number, lambda *_: None)

    def wait(self, timeout: float | None, files: Iterable[int] = ()) -> list[int]:
        """Returns when a signal arrived, when one of the files can be read (these are returned), or after the time."""
        ready, _, _ = select.select([self._reader, *files], [], [], timeout)
        if self._reader in ready:
            for number in os.read(self._reader, 4096):
                if number in STOP_SIGNALS and self.stop is None:
                    self.stop = signal.Signals(number)
        return [file for file in ready if file != self._reader]


def die_with_parent() -> Callable[[], None]:
    """For `preexec_fn`: the kernel kills the child when this process ends, however it ends."""
    parent, libc = os.getpid(), ctypes.CDLL(None)

    def arrange() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the kernel was asked
            os._exit(128 + signal.SIGKILL)

    return arrange


def end_groups(processes: Sequence[subprocess.Popen[bytes]], seconds: float) -> None:
    """Asks processes and what they started to end, and kills what is left. Each leads a process group of its own."""
    _signal_groups(processes, signal.SIGTERM)
    _signal_groups(processes, signal.SIGCONT)  # one that is stopped could not even end
    wait_for(processes, seconds)
    _signal_groups(processes, signal.SIGKILL)
    for process in processes:
        with suppress(subprocess.TimeoutExpired):  # it waits for a file server that has gone
            process.wait(_SECONDS_TO_BE_KILLED)


def end_sessions(processes: Sequence[subprocess.Popen[bytes]], seconds: float) -> None:
    """As above, where each leads a session: what starts processes by itself, such as mpirun, gives them groups."""
    end_groups(processes, seconds)
    sessions = {process.pid for process in processes}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile, or is another user's
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
            if int(session) in sessions and state != "Z":
                os.kill(int(stat.parent.name), signal.SIGKILL)


def wait_for(processes: Sequence[subprocess.Popen[bytes]], seconds: float) -> None:
    """Until all have ended, or the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(process.poll() is None for process in processes):
        time.sleep(0.02)


def _signal_groups(processes: Sequence[subprocess.Popen[bytes]], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


def shell_status(returncode: int) -> int:
    """A process that a signal ended has the status that a shell would give it."""
    return returncode if returncode >= 0 else 128 - returncode

"""A program that goes on printing and is never waited for. One that falls silent is killed, and tried again later."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import tty
from contextlib import suppress

from .processes import die_with_parent

SILENCE = 10.0  # seconds
PAUSE = 60.0
_LONGEST_LINE = 4096
_LONGEST_QUOTE = 200


class WatchedTool:
    """It writes to a terminal, because into a pipe most programs write whole pages late.

    `reason` says why nothing comes from it.
    """

    def __init__(
        self, command: list[str], silence: float = SILENCE, speaks: bool = True, name: str | None = None
    ) -> None:
        self.reason: str | None = None
        self._command, self._silence = command, silence
        self._name = name or command[0]
        self._speaks = speaks  # by itself, and not only when it is asked
        self._process: subprocess.Popen[bytes] | None = None
        self._terminal = -1
        self._rest = b""
        self._last_line = ""
        self._due: float | None = None  # since when it ought to have said something
        self._was_killed = False
        self._may_start = 0.0

    def lines(self, now: float) -> list[str]:
        """What it has printed since it was asked before. Starts it if it is time to."""
        if self._process is None:
            if now >= self._may_start:
                self._start(now)
            return []
        lines = self._printed()
        if lines and not self._was_killed:
            self.reason, self._last_line = None, lines[-1]
            self._due = now if self._speaks else None
        if self._process.poll() is not None:
            self._stop(self._why_ended(self._process.returncode), now)
        elif self._due is not None and now - self._due > self._silence:
            self._kill(now)
        return lines

    def ask(self, question: str, now: float) -> None:
        """Not again before it has answered."""
        if self._process is not None and self._process.stdin is not None and self._due is None:
            self._due = now
            with suppress(OSError):
                os.write(self._process.stdin.fileno(), question.encode() + b"\n")

    def close(self) -> None:
        if self._process is not None:
            self._kill_group(self._process)

    def _start(self, now: float) -> None:
        if shutil.which(self._command[0]) is None:
            self.reason, self._may_start = f"There is no program {self._command[0]}.", float("inf")
            return
        try:
            self._terminal, other = pty.openpty()
        except OSError as error:
            self.reason = f"{self._name} cannot be started, as there is no terminal for it: {error.strerror}."
            self._may_start = now + PAUSE
            return
        os.set_blocking(self._terminal, False)
        tty.setraw(other)
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL if self._speaks else subprocess.PIPE,
                stdout=other,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent(),
            )
        except OSError as error:
            self._stop(f"{self._name} cannot be started: {error.strerror}.", now)
        finally:
            os.close(other)
        self._due, self._rest, self._last_line = (now if self._speaks else None), b"", ""
        self._was_killed = False
        self.reason = self.reason or f"{self._name} has not said anything yet."

    def _printed(self) -> list[str]:
        with suppress(OSError):  # nothing there yet, or it has ended
            while True:
                chunk = os.read(self._terminal, 65536)
                if not chunk:
                    break
                self._rest += chunk
        *whole, self._rest = self._rest.split(b"\n")
        self._rest = self._rest[-_LONGEST_LINE:]
        lines = (line[:_LONGEST_LINE].decode(errors="replace").strip() for line in whole)
        return [line for line in lines if line]

    def _kill(self, now: float) -> None:
        """One that a driver holds dies later or never: then there is no second one."""
        if self._process is not None:
            self._kill_group(self._process)
            self._was_killed = True
            self.reason = self._why_ended(-signal.SIGKILL)
            if self._process.poll() is not None:
                self._stop(self.reason, now)

    @staticmethod
    def _kill_group(process: subprocess.Popen[bytes]) -> None:
        """It may be a script around the program that hangs."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    def _why_ended(self, status: int) -> str:
        if self._was_killed:
            return f"{self._name} said nothing for {self._silence:g} s and was killed."
        said = f": {self._last_line[:_LONGEST_QUOTE]}" if self._last_line else "."
        return f"{self._name} ended with exit status {status}{said}"

    def _stop(self, reason: str, now: float) -> None:
        os.close(self._terminal)
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process, self.reason, self._may_start = None, reason, now + PAUSE

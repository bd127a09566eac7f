"""Commands in a terminal of a certain width, with Ctrl-C."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

_COLORS = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    def __init__(self, command, columns=80, **options):
        """`options` are those of Popen."""
        self._screen, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        streams = {"stdin": inside, "stdout": inside, "stderr": inside}
        self.process = subprocess.Popen(
            command, **streams, start_new_session=True, preexec_fn=_take_terminal, **options
        )
        os.close(inside)
        self.shown = ""

    def read(self, until=None):
        """All that is shown to the end, or until a text has been shown."""
        while until is None or until not in self.shown:
            try:
                part = os.read(self._screen, 65536)
            except OSError:  # the last process with this terminal has ended
                break
            self.shown += _COLORS.sub("", part.decode(errors="replace")).replace("\r\n", "\n")
        return self.shown

    def press_ctrl_c(self):
        os.write(self._screen, b"\x03")

    def end(self):
        """What was shown, and the exit status."""
        self.read()
        os.close(self._screen)
        return self.shown, self.process.wait(60)


def _take_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)

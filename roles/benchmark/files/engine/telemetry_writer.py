"""Lines of JSON into a file on a disk that may fill up."""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Mapping

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FALLBACK_LINES = 3


class DiskFullError(Exception):
    """The last thing written into the file says so, if anything could be."""


class TelemetryWriter:
    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._begins = [0]  # of the last lines; the last entry is where the next one goes

    def write(self, line: Mapping[str, Any]) -> None:
        try:
            self._put(line)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            self._say_that_it_is_full(line)
            raise DiskFullError from error

    def _put(self, line: Mapping[str, Any]) -> None:
        content = (json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n").encode()
        begin = place = self._begins[-1]
        while place < begin + len(content):
            place += os.pwrite(self._file, content[place - begin :], place)
        self._begins = [*self._begins[-_FALLBACK_LINES:], place]

    def _say_that_it_is_full(self, line: Mapping[str, Any]) -> None:
        """In the place of the last lines, which is taken already."""
        end = {"ms": line.get("ms"), "end": "The disk is full, or a quota is used up: the sampler stopped."}
        room = self._begins[-1]
        for begin in reversed(self._begins[1:]):  # never over the head of the file
            if room - begin > len(json.dumps(end)):
                self._begins = [begin]
                break
        with suppress(OSError):
            self._put(end)
        os.ftruncate(self._file, self._begins[-1])

    def close(self) -> None:
        os.close(self._file)

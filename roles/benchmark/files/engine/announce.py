"""Says how far a search is in the comment of its job, where `squeue --format=%k` and Slurm's exporter find it."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path

from allocation import log_of

SECONDS_BETWEEN = 15.0
_TAIL_BYTES = 16384
_NAME = re.compile(r"[a-z_]{1,32}")
_NOT_SAID = ("event", "time", "monotonic")


class Announcer:
    """Asks Slurm without waiting for it: where slurmctld does not answer, the comment is an old one."""

    def __init__(self, folder: Path, number: str, ranks: int) -> None:
        self._folder, self._number, self._ranks = folder, number, ranks
        self._next, self._said = 0.0, ""
        self._process: subprocess.Popen[bytes] | None = None

    def tell(self) -> None:
        at_work = self._process is not None and self._process.poll() is None
        if at_work or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + SECONDS_BETWEEN
        said = self._progress()
        if said and said != self._said:
            command = ["scontrol", "update", f"JobId={self._number}", f"Comment={said}"]
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            except OSError:
                return
            self._said = said

    def _progress(self) -> str:
        """By the log that was written last: each of them tells how far all are."""
        logs = [path for path in (self._folder / log_of(rank) for rank in range(self._ranks)) if path.exists()]
        newest = max(logs, key=_written, default=None)
        for line in reversed(_tail(newest) if newest else []):
            _, _, record = line.partition("RACKMARK ")
            if '"progress"' in record:
                return _in_words(record)
        return ""


def _in_words(record: str) -> str:
    try:
        numbers = json.loads(record)
        told = {name: value for name, value in numbers.items() if name not in _NOT_SAID and _NAME.fullmatch(name)}
    except (ValueError, AttributeError):  # half a line, or of another kind
        return ""
    pairs = [f"{name}={value:.6g}" for name, value in told.items() if type(value) in (int, float)]
    return " ".join(["rackmark", *pairs[:16]]) if pairs else ""


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _tail(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return file.read().decode(errors="replace").splitlines()
    except OSError:
        return []

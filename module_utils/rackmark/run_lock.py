"""One run at a time changes a cluster, of all that are started on this machine.

A run leaves a file that names its process. The file means nothing once that process is gone, however it ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

# Where every user may leave files and none can remove another's.
FOLDERS = (Path("/run/lock"), Path("/tmp"))
_PREFIX = "rackmark-run"
_LONGEST = 4096


@dataclass(frozen=True)
class Holder:
    pid: int
    user: str
    playbook: str
    since: datetime


def take(cluster: str, pid: int, user: str, playbook: str, folder: Path | None = None) -> Holder | None:
    """None when this process may go on; the run that it has to wait for otherwise.

    Cluster is a word that is the same for all runs on one cluster.
    """
    folder = folder or next(filter(Path.is_dir, FOLDERS))
    stem = f"{_PREFIX}-{hashlib.sha256(cluster.encode()).hexdigest()[:16]}"
    own = folder / f"{stem}-{pid}-{_started(pid)}"
    if not own.exists():  # two playbooks of one command are one run
        with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
            json.dump({"user": user, "playbook": playbook}, file)
    place = _place(own)
    for other in sorted(folder.glob(f"{_PREFIX}-*")):
        with contextlib.suppress(OSError, ValueError):  # it may go away at any time
            if not _is_alive(other):
                other.unlink()  # of whatever cluster: nobody else would
            elif other.name.startswith(stem) and _place(other) < place:
                holder = _read(other)
                own.unlink()
                return holder
    return None


def _place(path: Path) -> tuple[int, str]:
    """In a queue: of two that start at once, both see the same one in front."""
    return path.stat().st_mtime_ns, path.name


def _started(pid: int) -> str:
    """When a process started, in ticks: with its number that means one process. Empty once it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _is_alive(path: Path) -> bool:
    pid, started = path.name.split("-")[3:]
    if not started or _started(int(pid)) != started:
        return False
    return Path(f"/proc/{pid}").stat().st_uid == path.lstat().st_uid  # nobody locks in another's name


def _read(path: Path) -> Holder:
    with path.open() as file:
        said = json.loads(file.read(_LONGEST))
    since = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
    return Holder(int(path.name.split("-")[3]), str(said["user"]), str(said["playbook"]), since)

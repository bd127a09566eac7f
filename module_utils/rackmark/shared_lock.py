"""Lets one process at a time do something in a folder that several hosts share; the others wait.

A file stands for the lock, since creating one is exclusive on NFS as well, where locks of the kernel depend on how the
folder is mounted. Its holder touches it all the time, so one that was killed is noticed.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator

TOUCHED_EVERY = 10.0
ABANDONED_AFTER = 180.0  # longer than NFS keeps a file's attributes to itself


class BusyError(Exception):
    """Somebody else held the lock for all the time that we had."""


@contextmanager
def hold(path: Path, patience: float, *, abandoned_after: float = ABANDONED_AFTER) -> Iterator[None]:
    me = json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "id": uuid.uuid4().hex})
    _take(path, me, patience, abandoned_after)
    ended = threading.Event()
    heart = threading.Thread(target=_beat, args=(path, ended), daemon=True)
    heart.start()
    try:
        yield
    finally:
        ended.set()
        heart.join()
        if (_state(path) or ("", 0))[0] == me:
            path.unlink()


def _take(path: Path, me: str, patience: float, abandoned_after: float) -> None:
    begun = seen_at = time.monotonic()
    seen = None
    while not _created(path, me):
        now, state = time.monotonic(), _state(path)
        if state != seen:
            seen, seen_at = state, now
        if state and (_is_dead(state[0]) or now - seen_at > abandoned_after):
            _remove(path, state[0])
        elif now - begun > patience:
            raise BusyError(f"{_named(state[0] if state else '')} has held {path} for more than {patience:.0f} s")
        else:
            time.sleep(min(1.0, patience / 10))


def _created(path: Path, me: str) -> bool:
    try:
        with path.open("x") as file:
            file.write(me)
    except FileExistsError:
        return False
    except OSError:  # a full disk takes the file, not what is in it
        path.unlink(missing_ok=True)
        raise
    return True


def _state(path: Path) -> tuple[str, int] | None:
    """Who holds it and when it was last touched, by the clock of whoever keeps the file: it is only compared."""
    try:
        with path.open() as file:  # NFS asks the server again when a file is opened
            return file.read(), os.fstat(file.fileno()).st_mtime_ns
    except FileNotFoundError:
        return None


def _beat(path: Path, ended: threading.Event) -> None:
    while not ended.wait(TOUCHED_EVERY):
        with suppress(OSError):
            os.utime(path)


def _remove(path: Path, owner: str) -> None:
    aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    if aside.read_text() != owner:  # another one removed it first and holds it
        with suppress(FileExistsError):
            os.link(aside, path)
    aside.unlink()


def _owner(text: str) -> dict[str, object]:
    try:
        owner = json.loads(text)
    except ValueError:  # not yet written
        return {}
    return owner if isinstance(owner, dict) else {}


def _is_dead(text: str) -> bool:
    owner = _owner(text)
    return owner.get("host") == socket.gethostname() and not Path(f"/proc/{owner.get('pid')}").exists()


def _named(text: str) -> str:
    owner = _owner(text)
    return f"Process {owner['pid']} on {owner['host']}" if owner else "Another process"

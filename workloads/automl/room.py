"""Writing where several nodes read, on a disk that may be full for a moment: whole files or none."""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Mapping, TypeVar

PATIENCE = 60  # seconds that a trial waits for room
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PAUSE = 1.0
_Result = TypeVar("_Result")


def with_room(action: Callable[[], _Result], patience: float = PATIENCE) -> _Result:
    """Does it again as long as the disk is full; the action has to be one that may be repeated."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return action()
        except OSError as error:
            if error.errno not in _FULL or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE)


def replace_file(path: Path, write: Callable[[Path], Any]) -> None:
    """What is written appears at once, in the place of what was there."""
    fresh = _beside(path)

    def do() -> None:
        try:
            write(fresh)
            fresh.replace(path)
        except BaseException:
            with suppress(OSError):
                fresh.unlink()
            raise

    with_room(do)


def replace_json(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content)
    replace_file(path, lambda fresh: fresh.write_text(text, encoding="utf-8"))


def publish(path: Path, write: Callable[[Path], Any], patience: float = PATIENCE) -> bool:
    """False if somebody else was first. Nobody ever sees a part of it, as they could of a file opened with O_EXCL."""
    fresh = _beside(path)

    def do() -> bool:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(fresh)
            os.link(fresh, path)
        except FileExistsError:
            return False
        finally:
            with suppress(OSError):
                fresh.unlink()
        return True

    return with_room(do, patience)


def publish_json(path: Path, content: Mapping[str, Any]) -> bool:
    text = json.dumps(content, indent=1)
    return publish(path, lambda fresh: fresh.write_text(text, encoding="utf-8"))


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}")


class Appended:
    """A file that one process appends to. What a full disk kept out is written later, and not twice."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def write(self, text: str) -> None:
        rest = memoryview(text.encode())
        while rest:
            written = with_room(lambda left=rest: os.write(self._file, left))  # type: ignore[misc]
            rest = rest[written:]

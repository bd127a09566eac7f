"""The history of a search: experiment/history/worker-<i>.jsonl, a file per worker, which it alone writes and all read.

A record is one line, written at once and synced before the worker goes on. So a crash costs at most the line that was
being written: the next one begins on a line of its own. A reader takes whole lines only, and a line that is no record
is counted and said, with its file and place.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

from .records import fault

FOLDER = "history"
LONGEST_LINE = 4095  # bytes, with its end: what every file system writes in one piece
# All workers of a search together, so that they leave the shared storage to the training: with more than a hundred of
# them, a worker sees the results of the others later, in turns.
OPENS_PER_SECOND = 2000
_BURST_SECONDS = 60  # a worker that looks seldom may open as many files as it could have in this time
_MOST_COMPLAINTS = 20
_CHUNK = 1 << 20

Record = Mapping[str, Any]


def history_file(experiment: Path, worker: int) -> Path:
    return experiment / FOLDER / f"worker-{worker}.jsonl"


def append(experiment: Path, record: Record) -> None:
    """Returns once the record is on the disk; after an OSError (a full disk) nothing of it counts: try again."""
    line = json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    if len(line) > LONGEST_LINE:
        raise ValueError(f"A record of the history has {len(line)} bytes, more than {LONGEST_LINE}: {line[:80]!r} ...")
    path = history_file(experiment, record["worker"])
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            line = b"\n" + line  # only the line that an earlier crash tore is lost
        try:
            if os.write(file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            os.fsync(file)
        except OSError:
            with contextlib.suppress(OSError):  # then the next line begins on its own, as after a crash
                os.ftruncate(file, size)
            raise
    finally:
        os.close(file)
    if not size:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """So that a new file survives a power cut, too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # some file systems sync no folders
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass
class _File:
    """How far a file has been read. `skipping` is inside a line that is too long."""

    path: Path
    worker: int
    offset: int = 0
    inode: int = 0
    skipping: bool = False


class History:
    """Reads what is new in the files of all workers. `bad` counts lines that are no records, `complaints` says where.

    With `reader`, the number of the worker that looks, its own file is read at every look and the others in turns,
    within its part of OPENS_PER_SECOND, and files that are missing are made; without it every look reads all.
    """

    def __init__(
        self, experiment: Path, workers: int, reader: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.bad = 0
        self.complaints: list[str] = []
        self._experiment = experiment
        self._workers = workers
        self._reader = reader
        self._clock = clock
        self._files = [_File(history_file(experiment, worker), worker) for worker in range(workers)]
        self._next = 0
        self._allowed = _BURST_SECONDS * OPENS_PER_SECOND / workers
        self._looked = clock()
        self._how = os.O_RDONLY | os.O_CLOEXEC
        if reader is not None:
            # Asked for a file that is not there, NFS remembers that for half a minute. One that is made is seen by all.
            self._how |= os.O_CREAT
            (experiment / FOLDER).mkdir(parents=True, exist_ok=True)

    def look(self) -> list[dict[str, Any]]:
        """The records that are new. Files are opened anew each time, which makes NFS ask its server for their size."""
        return [record for file in self._due() for record in self._read(file)]

    def unread(self) -> list[str]:
        """What is in the folder and was not read, once nobody writes any more: torn lines, files of nobody."""
        sentences = []
        for file in self._files:
            with contextlib.suppress(OSError):
                rest = file.path.stat().st_size - file.offset
                if rest > 0:
                    sentences.append(f"The last line of {self._name(file)} is torn: {rest} bytes without an end.")
        own = {file.path.name for file in self._files}
        with contextlib.suppress(OSError):
            foreign = sorted(entry.name for entry in os.scandir(self._experiment / FOLDER) if entry.name not in own)
            sentences += [f"{FOLDER}/{name:.80} is the file of no worker and was not read." for name in foreign[:5]]
            if foreign[5:]:
                sentences.append(f"{len(foreign) - 5} more files in {FOLDER} are those of no worker.")
        return sentences

    def _due(self) -> list[_File]:
        if self._reader is None:
            return self._files
        now = self._clock()
        rate = OPENS_PER_SECOND / self._workers
        self._allowed = min(self._allowed + (now - self._looked) * rate, _BURST_SECONDS * rate)
        self._looked = now
        count = min(len(self._files) - 1, int(self._allowed))
        self._allowed -= count
        own = self._files[self._reader]
        others = self._files[: self._reader] + self._files[self._reader + 1 :]
        turn = [others[(self._next + place) % len(others)] for place in range(count)]
        self._next = (self._next + count) % max(1, len(others))
        return [own, *turn]

    def _read(self, file: _File) -> Iterator[dict[str, Any]]:
        try:
            descriptor = os.open(file.path, self._how, 0o644)
        except FileNotFoundError:
            return
        except OSError as error:
            self._complain(f"{self._name(file)} cannot be read: {error.strerror}.")
            return
        try:
            found = os.fstat(descriptor)
            if self._was_rewritten(file, descriptor, found):
                self._complain(f"{self._name(file)} was changed behind byte {file.offset}: it is read again.")
                file.offset, file.skipping = 0, False
            file.inode = found.st_ino
            while file.offset < found.st_size:
                data = os.pread(descriptor, _CHUNK, file.offset)
                whole = data.rfind(b"\n") + 1
                if whole:
                    yield from self._lines(file, data[:whole])
                elif len(data) > LONGEST_LINE:
                    self._skip(file, len(data))
                else:
                    return
        except OSError as error:
            self._complain(f"{self._name(file)} cannot be read: {error.strerror}.")
        finally:
            os.close(descriptor)

    def _was_rewritten(self, file: _File, descriptor: int, found: os.stat_result) -> bool:
        if not file.offset:
            return False
        if found.st_size < file.offset or found.st_ino != file.inode:
            return True
        # Unchanged files are the rule, and are not read.
        grown = found.st_size > file.offset and not file.skipping
        return grown and os.pread(descriptor, 1, file.offset - 1) != b"\n"

    def _lines(self, file: _File, data: bytes) -> Iterator[dict[str, Any]]:
        for line in data[:-1].split(b"\n"):
            place = file.offset
            file.offset += len(line) + 1
            if file.skipping:
                file.skipping = False
                continue
            record, wrong = _record(line, file.worker, self._workers)
            if record is not None:
                yield record
            else:
                self._count(file, place, wrong)

    def _skip(self, file: _File, size: int) -> None:
        if not file.skipping:
            self._count(file, file.offset, "is too long")
        file.skipping = True
        file.offset += size

    def _count(self, file: _File, place: int, wrong: str) -> None:
        self.bad += 1
        self._complain(f"A line of {self._name(file)} {wrong}, at byte {place}: it was passed over.")

    def _complain(self, sentence: str) -> None:
        if len(self.complaints) < _MOST_COMPLAINTS and sentence not in self.complaints:
            self.complaints.append(sentence)

    def _name(self, file: _File) -> str:
        return f"{FOLDER}/{file.path.name}"


def _record(line: bytes, worker: int, workers: int) -> tuple[dict[str, Any] | None, str]:
    if len(line) >= LONGEST_LINE:
        return None, "is too long"
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None, "is not JSON"
    wrong = fault(record, worker, workers)
    return (None, wrong) if wrong else (record, "")

"""The operator's code as objects of a store: what is there is not sent again, and no key leaves this machine."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from .checksums import md5_of, md5_of_parts
from .credentials import Credentials
from .errors import UploadError
from .store import Store
from .threads import for_each

THREADS = 8
LARGEST_IN_ONE = 9 << 20
MOST_PARTS = 1000
_LEFT_OUT = (".git", "__pycache__")
_STEP = 1 << 20


@dataclass(frozen=True)
class Progress:
    """Of all files, with those that were there already."""

    files: int
    files_done: int
    bytes: int
    bytes_done: int


@dataclass(frozen=True)
class Uploaded:
    files: int
    bytes: int
    sent_files: int
    sent_bytes: int


def files_of(folder: Path, boot: str, secrets: Credentials) -> list[Path]:
    """Paths below the folder, without those of git and caches of Python. Nothing is left out in silence."""
    if not folder.is_dir():
        raise UploadError(f"There is no folder '{folder}': name the one with your training code in modelarts_code.")
    root = folder.resolve()
    files = sorted(path.relative_to(folder) for path in _walk(folder, root, (root,)))
    if not files:
        raise UploadError(f"The folder '{folder}' holds no file to upload: name the one with your training code.")
    if Path(boot) not in files:
        raise UploadError(f"The boot file '{boot}' is not in '{folder}': name one by its path below that folder.")
    for path in files:
        _refuse_keys(folder / path, secrets)
    return files


def _walk(folder: Path, root: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in _LEFT_OUT:
            continue
        if not path.name.isprintable():
            raise UploadError(f"The file {str(path)!r} has a name with characters that cannot be shown: rename it.")
        real = path.resolve()
        if path.is_symlink() and root not in (real, *real.parents):
            raise UploadError(f"'{path}' is a symbolic link out of '{root}': copy the file there, or remove the link.")
        if path.is_dir():
            if real in above:
                raise UploadError(f"'{path}' is a symbolic link to a folder above it: remove the link.")
            yield from _walk(path, root, (*above, real))
        elif path.is_file():
            yield path
        else:
            what = "a symbolic link to nothing" if path.is_symlink() else "neither a file nor a folder"
            raise UploadError(f"'{path}' is {what}: remove it.")


def _refuse_keys(path: Path, secrets: Credentials) -> None:
    keys = {
        "the secret key": secrets.secret_key,
        "the access key": secrets.access_key,
        "the security token": secrets.security_token,
    }
    wanted = {name: value.encode() for name, value in keys.items() if value}
    longest = max(map(len, wanted.values()))
    before = b""
    try:
        with path.open("rb") as file:
            while chunk := file.read(_STEP):
                seen = before + chunk
                for name, value in wanted.items():
                    if value in seen:
                        raise UploadError(
                            f"'{path}' contains {name} of your account: remove it there, nothing was uploaded."
                        )
                before = seen[-longest:]
    except OSError as problem:
        raise UploadError(f"'{path}' cannot be read: {problem.strerror}.") from None


def upload(
    store: Store,
    folder: Path,
    bucket: str,
    prefix: str,
    files: list[Path],
    *,
    progress: Callable[[Progress], None],
    checkpoints: Path,
) -> Uploaded:
    """Sends what is missing below the prefix or differs there. Files above 9 MB go in parts, which are kept too."""
    return _Upload(store, folder, bucket, prefix, files, progress, checkpoints).done()


@dataclass(frozen=True)
class _File:
    path: Path
    key: str
    size: int

    @property
    def step(self) -> int:
        """Bytes of a part: 9 MB, and more only where there would be too many."""
        return max(LARGEST_IN_ONE, -(-self.size // MOST_PARTS))

    @property
    def parts(self) -> list[tuple[int, int]]:
        return [(start, min(self.step, self.size - start)) for start in range(0, self.size, self.step)]


class _Upload:
    def __init__(
        self,
        store: Store,
        folder: Path,
        bucket: str,
        prefix: str,
        files: list[Path],
        progress: Callable[[Progress], None],
        checkpoints: Path,
    ) -> None:
        self._store, self._bucket, self._checkpoints, self._progress = store, bucket, checkpoints, progress
        self._files = [
            _File(folder / path, f"{prefix}{path.as_posix()}", (folder / path).stat().st_size) for path in files
        ]
        self._there = store.listing(bucket, prefix)
        self._parent = os.getppid()
        self._lock = threading.Lock()
        self._bytes = sum(each.size for each in self._files)
        self._files_done = self._bytes_done = self._sent_files = self._sent_bytes = 0

    def done(self) -> Uploaded:
        for_each((each for each in self._files if each.size <= LARGEST_IN_ONE), self._small, THREADS)
        for each in self._files:
            if each.size > LARGEST_IN_ONE:
                self._large(each)
        return Uploaded(len(self._files), self._bytes, self._sent_files, self._sent_bytes)

    def _small(self, file: _File) -> None:
        self._end_with_parent()
        md5 = md5_of(file.path)
        entry = self._there.get(file.key)
        if entry is None or (entry.size, entry.md5) != (file.size, md5.hex()):
            self._store.put(self._bucket, file.key, file.path, file.size, md5)
            self._note(sent_files=1, sent_bytes=file.size)
        self._note(files_done=1, bytes_done=file.size)

    def _large(self, file: _File) -> None:
        if self._is_whole(file):
            self._note(files_done=1, bytes_done=file.size)
            return
        number_of_upload, there = self._begun(file)

        def send(part: tuple[int, tuple[int, int]]) -> None:
            self._end_with_parent()
            number, (offset, size) = part
            md5 = md5_of(file.path, offset, size)
            if there.get(number) != (size, md5.hex()):
                self._store.put_part(self._bucket, file.key, number_of_upload, number, file.path, offset, size, md5)
                self._note(sent_bytes=size)
            self._note(bytes_done=size)

        for_each(enumerate(file.parts, start=1), send, THREADS)
        if not self._store.end_parts(self._bucket, file.key, number_of_upload):
            self._there = self._store.listing(self._bucket, file.key)
            if not self._is_whole(file):
                raise UploadError(f"'{file.key}' was uploaded from two places at the same time: run again.")
        self._checkpoint(file).unlink(missing_ok=True)
        self._note(files_done=1, sent_files=1)

    def _end_with_parent(self) -> None:
        """Ansible's processes go on when the playbook is killed, and would send what the next one sends too."""
        if os.getppid() != self._parent:
            raise UploadError("What started the upload has ended, so the upload ends too.")

    def _is_whole(self, file: _File) -> bool:
        """Whether the same content is there; it is not read where the size tells enough."""
        entry = self._there.get(file.key)
        if entry is None or entry.size != file.size:
            return False
        return entry.md5 == md5_of_parts([md5_of(file.path, *part) for part in file.parts])

    def _begun(self, file: _File) -> tuple[str, dict[int, tuple[int, str]]]:
        """The upload in parts that an earlier try left, with what has arrived of it; else a new one."""
        checkpoint = self._checkpoint(file)
        try:
            known = json.loads(checkpoint.read_text())
        except (OSError, ValueError):
            known = {}
        if known.get("step") == file.step and isinstance(known.get("upload"), str):
            there = self._store.parts(self._bucket, file.key, known["upload"])
            if there is not None:
                return known["upload"], {number: (part.size, part.md5) for number, part in there.items()}
        upload_number = self._store.begin_parts(self._bucket, file.key)
        checkpoint.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        written = checkpoint.with_suffix(".part")
        written.write_text(json.dumps({"key": file.key, "step": file.step, "upload": upload_number}))
        written.replace(checkpoint)
        return upload_number, {}

    def _checkpoint(self, file: _File) -> Path:
        where = f"{self._store.endpoint} {self._bucket} {file.key}"
        return self._checkpoints / f"{hashlib.sha256(where.encode()).hexdigest()[:32]}.json"

    def _note(self, files_done: int = 0, bytes_done: int = 0, sent_files: int = 0, sent_bytes: int = 0) -> None:
        with self._lock:
            self._files_done += files_done
            self._bytes_done += bytes_done
            self._sent_files += sent_files
            self._sent_bytes += sent_bytes
            if files_done or bytes_done:
                self._progress(Progress(len(self._files), self._files_done, self._bytes, self._bytes_done))

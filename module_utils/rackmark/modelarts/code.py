"""The code of a run on its way to the bucket: what goes there, and that it is what the run was begun with."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from .credentials import Credentials
from .errors import UploadError
from .own_code import BOOT
from .settings import Settings
from .store import Store
from .upload import Progress, files_of, upload

RECORD = "upload.json"
BEFORE_START = "ma-pre-start.sh"
SINGLE_SERVER = "export SINGLESERVER_MODE=True\n"
_STEP = 1 << 20


@dataclass(frozen=True)
class Code:
    """`changed` are files that are uploaded in place of the folder's own, or beside them."""

    folder: Path
    files: list[Path]
    changed: Mapping[Path, bytes]

    @property
    def bytes(self) -> int:
        own = sum((self.folder / path).stat().st_size for path in self.files)
        return own + sum(map(len, self.changed.values()))

    def digest(self) -> str:
        """Of all names and contents."""
        whole = hashlib.sha256()
        for path in sorted({*self.files, *self.changed}):
            whole.update(f"{path.as_posix()}\0{self._digest(path)}\n".encode())
        return whole.hexdigest()

    def _digest(self, path: Path) -> str:
        content = hashlib.sha256()
        if path in self.changed:
            content.update(self.changed[path])
        else:
            with (self.folder / path).open("rb") as file:
                while chunk := file.read(_STEP):
                    content.update(chunk)
        return content.hexdigest()


def code_of(settings: Settings, run_dir: Path, boot_file: Path, keys: Credentials) -> Code:
    """The operator's folder; of a workload of ours the code that the run has kept, with our boot file."""
    if settings.boot == BOOT:
        folder = run_dir / "code"
        entries = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
        return Code(folder, [path.relative_to(folder) for path in entries], {Path(BOOT): boot_file.read_bytes()})
    folder = Path(settings.code)
    files = files_of(folder, settings.boot, keys)
    if not settings.single_server:
        return Code(folder, files, {})
    before = Path(settings.boot).parent / BEFORE_START
    own = (folder / before).read_bytes() if before in files else b"#!/bin/bash\n"
    text = own + (b"" if own.endswith(b"\n") else b"\n") + SINGLE_SERVER.encode()
    return Code(folder, [path for path in files if path != before], {before: text})


def send(
    code: Code, store: Store, settings: Settings, run_dir: Path, progress: Callable[[Progress], None]
) -> dict[str, object]:
    """What was sent and what was there; the record of it lies in the folder of the run."""
    digest, begun, started = code.digest(), _record(run_dir).get("digest"), time.monotonic()
    if begun not in (None, digest):
        raise UploadError(
            f"{code.folder} is not what the run was begun with: put that back, or begin a new run without run_id."
        )
    known = {"prefix": f"{settings.prefix(run_dir.name)}/code/", "digest": digest, "bytes": code.bytes}
    _write(run_dir, {**known, "complete": False})
    checkpoints = run_dir / ".upload"
    with _folder_of(code.changed) as changed:
        sent = [
            upload(
                store, folder, settings.bucket, str(known["prefix"]), files, progress=progress, checkpoints=checkpoints
            )
            for folder, files in ((code.folder, code.files), (changed, list(code.changed)))
            if files
        ]
    shutil.rmtree(checkpoints, ignore_errors=True)
    totals = {name: sum(asdict(one)[name] for one in sent) for name in ("files", "sent_files", "sent_bytes")}
    record: dict[str, object] = {**known, **totals, "seconds": round(time.monotonic() - started, 2), "complete": True}
    _write(run_dir, record)
    return record


@contextmanager
def _folder_of(files: Mapping[Path, bytes]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rackmark-") as folder:
        for path, content in files.items():
            place = Path(folder) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        yield Path(folder)


def _record(run_dir: Path) -> Mapping[str, object]:
    try:
        content = json.loads((run_dir / RECORD).read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _write(run_dir: Path, record: Mapping[str, object]) -> None:
    temporary = run_dir / f".{RECORD}"
    temporary.write_text(json.dumps(record, indent=1) + "\n")
    temporary.replace(run_dir / RECORD)

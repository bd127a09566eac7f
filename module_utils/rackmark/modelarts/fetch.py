"""Objects of a store as files of a folder, each checksummed, and none outside of it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence

from .checksums import MD5_LENGTH, md5_of
from .errors import StoreError
from .threads import for_each

THREADS = 8


@dataclass(frozen=True)
class Remote:
    key: str
    name: str  # below the folder
    size: int
    etag: str
    changed: float


# Downloads an object to a path; True where the ETag of an object sent in one piece is its MD5.
Download = Callable[[str, Path], bool]


def fetch(remote: Sequence[Remote], folder: Path, download: Download) -> list[str]:
    """Names of what was written: what was there already, and whole, stays as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    # Objects that end in a slash stand for folders; a console makes them.
    wanted = {each: _path(each, folder) for each in remote if each.name and not each.name.endswith("/")}
    missing = [(each, path) for each, path in wanted.items() if not _is_there(each, path)]
    for_each(missing, lambda pair: _get(*pair, download), THREADS)
    return sorted(each.name for each, _ in missing)


def _path(each: Remote, folder: Path) -> Path:
    parts = each.name.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in each.name or "\\" in each.name:
        raise StoreError(f"The object '{each.key}' has a name that would leave {folder}: nothing was downloaded.")
    path = folder.joinpath(*parts)
    real = path.parent.resolve()
    if folder.resolve() not in (real, *real.parents) or path.is_symlink():
        raise StoreError(
            f"The object '{each.key}' would be written through a symbolic link out of {folder}: remove it."
        )
    return path


def _is_there(each: Remote, path: Path) -> bool:
    if not path.is_file() or path.stat().st_size != each.size:
        return False
    if len(each.etag) == MD5_LENGTH:
        return md5_of(path).hex() == each.etag
    return path.stat().st_mtime == each.changed  # sent in parts: the ETag is no checksum of the content


def _get(each: Remote, path: Path, download: Download) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.touch()  # with the rights of this user's files; the client would allow nobody else
        checksummed = download(each.key, part)
        if part.stat().st_size != each.size or (
            checksummed and len(each.etag) == MD5_LENGTH and md5_of(part).hex() != each.etag
        ):
            raise StoreError(f"'{each.key}' did not arrive whole, or was changed meanwhile: run again.")
        os.utime(part, (each.changed, each.changed))
        part.replace(path)
    except OSError as problem:
        raise StoreError(f"'{each.key}' cannot be written to {path}: {problem.strerror}.") from None
    finally:
        with suppress(OSError):  # it has been renamed, or was never made
            part.unlink()

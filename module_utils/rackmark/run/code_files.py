"""The files that travel with a run, of any kind and depth: a workload's own, and those of the folders it shares."""

from __future__ import annotations

import ast
import io
import os
import tarfile
from pathlib import Path, PurePosixPath
from typing import Iterator, Mapping, Sequence

from ..shipping import imported_modules

MOST_MB = 64

_LEFT_BEHIND = ("workload.yml", "__pycache__", ".git")


def code_files(folder: Path, shared: Sequence[Path] = ()) -> dict[str, Path]:
    """By their name in the folder that they travel in, sorted."""
    files = _by_name(folder)
    for other in shared:
        also = _by_name(other)
        twice = sorted(files.keys() & also.keys())
        if twice:
            raise ValueError(f"{twice[0]} is in {folder} and in {other}, which it shares: rename or remove one.")
        files.update(also)
    size = sum(path.stat().st_size for path in files.values())
    if size > MOST_MB * 2**20:
        largest = max(files, key=lambda name: files[name].stat().st_size)
        raise ValueError(
            f"{folder} holds {size / 2**20:.0f} MB, the largest file is {largest}, and at most {MOST_MB} MB travel with"
            " a run: keep what is larger on the shared storage, and name it with -e data= or in the settings."
        )
    return dict(sorted(files.items()))


def pack(folder: Path, shared: Sequence[Path] = ()) -> bytes:
    """An archive that holds links as what they lead to, and the modules of this package that programs import."""
    files = code_files(folder, shared)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", dereference=True, compresslevel=6) as tar:
        for name, path in files.items():
            info = tar.gettarinfo(str(path.resolve()), name)
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mode = 0o755 if os.access(path, os.X_OK) else 0o644
            with path.open("rb") as file:
                tar.addfile(info, file)
        for name, content in _modules(files).items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o644
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _modules(files: Mapping[str, Path]) -> dict[str, bytes]:
    """Files that a workload brings itself under these names stay as they are."""
    programs = {name: _program(path) for name, path in files.items() if name.endswith(".py")}
    return {name: text.encode() for name, text in imported_modules(programs).items() if name not in files}


def _program(path: Path) -> str:
    """Empty where it is none: whoever runs it learns what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
        ast.parse(text)
    except (OSError, ValueError, SyntaxError):
        return ""
    return text


def unpack(archive: bytes, folder: Path) -> list[str]:
    """Into a new folder; returns the names of the files. The archive is one that `pack` made: plain files alone."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        for member in tar:
            content = tar.extractfile(member)
            name = PurePosixPath(member.name)
            if content is None or name.is_absolute() or ".." in name.parts:
                raise ValueError(f"{member.name} is no file of a workload's folder.")
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read())
            path.chmod(member.mode)
            names.append(member.name)
    return names


def _by_name(folder: Path) -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in _files(folder, folder.resolve())}


def _files(folder: Path, top: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in _LEFT_BEHIND:
            continue
        if path.is_symlink():
            _check_link(path, top)
        if path.is_dir():
            yield from _files(path, top)
        elif path.is_file():
            yield path
        else:
            raise ValueError(f"{path} is neither a file nor a folder, and cannot travel with a run: move it elsewhere.")


def _check_link(path: Path, top: Path) -> None:
    to, place = path.resolve(), path.parent.resolve()
    if not to.exists():
        raise ValueError(
            f"{path} is a link to {os.readlink(path)}, which is not there: copy that, too (cp -rL), or remove it."
        )
    if to in (place, *place.parents):
        raise ValueError(f"{path} is a link to {to}, in which it lies itself: remove it.")
    if top.parent not in to.parents:
        raise ValueError(
            f"{path} is a link to {to}, which is outside of the workload's folder and of those beside it: put the file"
            " itself there, or keep it on the shared storage."
        )

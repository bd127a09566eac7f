"""Files of a host, reached and written without being led elsewhere by another user.

A link counts only where nobody but root (or the user that this runs as) could have set it. Every step is taken from the
folder that was opened before it, so exchanging a folder meanwhile leads nowhere either.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import secrets
import stat
from pathlib import Path
from typing import Iterator, NamedTuple

_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
MOST_LINKS = 40
MOST_BYTES = 16 * 2**20


class Spot(NamedTuple):
    """A name in an opened folder."""

    folder: int
    name: str


def state(path: Path) -> os.stat_result | None:
    """Of what is there; None where nothing is. A link that somebody else can set is shown as the link that it is."""
    try:
        with _spot(path) as spot:
            found = os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode) and _is_ours(spot.folder, found):
                return path.stat()
            return found
    except (FileNotFoundError, NotADirectoryError):
        return None


def read(path: Path) -> bytes | None:
    """Content of a plain file, None where there is none."""
    try:
        with _spot(path) as spot, _opened(path, spot) as file:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                raise ValueError(f"{path} is not a file: remove it, or look at who put it there.")
            if found.st_size > MOST_BYTES:
                raise ValueError(f"{path} has {found.st_size} bytes and may have {MOST_BYTES}: look at who wrote it.")
            if found.st_nlink > 1 and not _is_ours(spot.folder, found):
                raise ValueError(f"{path} is also a file elsewhere (a hard link): look at who put it there.")
            with os.fdopen(os.dup(file), "rb") as content:
                return content.read(MOST_BYTES)
    except FileNotFoundError:
        return None


def write_beside(path: Path, content: bytes, mode: int, uid: int = -1, gid: int = -1) -> Path:
    """The content in a new file next to its place, with the rights it is to have; its path."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with _spot(path, make=True) as spot:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(beside.name, flags, 0o600, dir_fd=spot.folder)
        try:
            with os.fdopen(file, "wb") as written:
                written.write(content)
                written.flush()
                os.fchown(file, uid, gid)
                os.fchmod(file, mode)
                os.fsync(file)
        except BaseException:
            os.unlink(beside.name, dir_fd=spot.folder)
            raise
    return beside


def rename(source: Path, name: str) -> None:
    """Give a file another name in its folder; what had that name is gone."""
    with _spot(source) as spot:
        os.replace(spot.name, name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)


def remove_file(path: Path) -> None:
    with _spot(path) as spot:
        os.unlink(spot.name, dir_fd=spot.folder)


def remove_tree(path: Path) -> None:
    """A folder with all that is in it; links in it are removed and not followed."""
    with _spot(path) as spot:
        _remove_folder(spot)


def make_link(path: Path, target: str) -> None:
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with _spot(path, make=True) as spot:
        os.symlink(target, beside.name, dir_fd=spot.folder)
        os.replace(beside.name, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)


def make_folder(path: Path, mode: int, uid: int = -1, gid: int = -1) -> None:
    """A folder with these rights, whether it was there or not; not one that a third user has put there."""
    with _folder(path, make=True) as folder, _folder(path.parent) as parent:
        found = os.fstat(folder)
        if found.st_uid not in (0, os.geteuid(), uid) and not _is_ours(parent, found):
            raise ValueError(f"{path} was made by {_name_of(found.st_uid)}: remove it, or give it to its owner.")
        opened = f"/proc/self/fd/{folder}"  # works without the right to read the folder, which its owner may lack
        os.chown(opened, uid, gid)
        os.chmod(opened, mode)  # noqa: PTH101 - of a descriptor


@contextlib.contextmanager
def _spot(path: Path, make: bool = False) -> Iterator[Spot]:
    with _folder(path.parent, make) as folder:
        yield Spot(folder, path.name)


@contextlib.contextmanager
def _folder(path: Path, make: bool = False) -> Iterator[int]:
    """The folder, opened step by step; missing ones are made on request, readable by all whatever the umask is."""
    here, steps, links = os.open("/", _STEP), list(path.parts[1:]), 0
    try:
        while steps:
            name = steps.pop(0)
            there = _step(here, name, make)
            if there is None:
                links += 1
                target = Path(_link_target(path, here, name, links))
                steps = [*(target.parts[1:] if target.is_absolute() else target.parts), *steps]
                there = os.open("/", _STEP) if target.is_absolute() else os.dup(here)
            os.close(here)
            here = there
        yield here
    finally:
        os.close(here)


def _step(here: int, name: str, make: bool) -> int | None:
    """The folder of that name, None where it is a link."""
    try:
        return os.open(name, _STEP, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=here)
        made = os.open(name, _READ | os.O_DIRECTORY, dir_fd=here)
        try:
            os.fchmod(made, 0o755)
        finally:
            os.close(made)
        return os.open(name, _STEP, dir_fd=here)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        if not stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
            raise
        return None


def _link_target(path: Path, here: int, name: str, links: int) -> str:
    if links > MOST_LINKS:
        raise ValueError(f"{path} leads through more than {MOST_LINKS} links: they lead in a circle.")
    found = os.stat(name, dir_fd=here, follow_symlinks=False)
    target = os.readlink(name, dir_fd=here)
    if not _is_ours(here, found):
        raise ValueError(f"{path} leads through the link {name} of {_name_of(found.st_uid)} to {target}: {_REFUSED}")
    return target


_REFUSED = "nothing is read or written through it. Remove the link, or have root own the folder that it is in."


@contextlib.contextmanager
def _opened(path: Path, spot: Spot) -> Iterator[int]:
    """A file to read; a pipe or device that somebody put in its place is not waited for."""
    flags = _READ | os.O_NONBLOCK | os.O_NOCTTY
    try:
        file = os.open(spot.name, flags, dir_fd=spot.folder)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        found = os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False)
        if not _is_ours(spot.folder, found):
            raise ValueError(f"{path} is a link of {_name_of(found.st_uid)}: {_REFUSED}") from error
        file = os.open(spot.name, flags & ~os.O_NOFOLLOW, dir_fd=spot.folder)
    try:
        yield file
    finally:
        os.close(file)


def _is_ours(folder: int, entry: os.stat_result) -> bool:
    """Whether nobody but root, or the user that this runs as, can have put an entry into its folder."""
    trusted = (0, os.geteuid())
    around = os.fstat(folder)
    if around.st_uid not in trusted:
        return False
    open_to_others = around.st_mode & stat.S_IWOTH or (around.st_mode & stat.S_IWGRP and around.st_gid != 0)
    if not open_to_others:
        return True
    return bool(around.st_mode & stat.S_ISVTX) and entry.st_uid in trusted


def _remove_folder(spot: Spot) -> None:
    folder = os.open(spot.name, _READ | os.O_DIRECTORY, dir_fd=spot.folder)
    try:
        for name in os.listdir(folder):  # noqa: PTH208 - of a descriptor
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                _remove_folder(Spot(folder, name))
            else:
                os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(spot.name, dir_fd=spot.folder)


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"

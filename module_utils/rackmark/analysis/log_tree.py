"""Finds what of a tree may be logs. What a link leads to is not part of the tree."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

from ..dialects.catalog import DIALECTS
from ..logs.printable import printable
from ..logs.series import Window
from ..logs.whole_log import parts_of, rotated_from
from .log_folders import LogFolder, log_folders
from .own_runs import without_own_files
from .placing import dialect_at, place

MOST_FILES = 100_000


class LogTree(NamedTuple):
    """`folders` are logs as a whole, so that their files are not among `files`; `links` are passed over.

    `remarks` say what else is, `own_window` is what our own runs in the tree measure.
    """

    root: Path
    files: Sequence[Path]
    links: Sequence[Path]
    folders: Sequence[LogFolder] = ()
    remarks: Sequence[str] = ()
    own_window: Window | None = None


def find_logs(root: Path) -> LogTree:
    if not root.exists():
        raise ValueError(f"There is no folder {root}: give the folder that holds the logs, as in -e logs=DIR.")
    if root.is_file():
        return LogTree(root.parent, [root], [])
    if not root.is_dir():
        raise ValueError(f"{root} is neither a folder nor a file: give the folder that holds the logs.")
    files, links, odd, special = [], [], [], []
    unreadable: list[str] = []
    for entry in _entries(root, unreadable):
        if not _is_text(entry.path):
            odd.append(entry.name)
        elif entry.is_symlink():
            links.append(Path(entry.path))
        elif entry.is_file() and (_size(entry) or _is_of_repeat(Path(entry.path))):
            files.append(Path(entry.path))
        elif not entry.is_file():
            special.append(Path(entry.path))
        if len(files) > MOST_FILES:
            raise ValueError(f"{root} holds more than {MOST_FILES} files: analyze its parts one by one.")
    if not files:
        raise ValueError(f"{root} holds no file with anything in it.")
    own = without_own_files(root, sorted(files, key=by_numbers))
    remarks = [*own.remarks, *_about_odd_names(odd), *_about_special(root, special), *unreadable[:3]]
    folders = log_folders(root, own.files)
    in_folders = {path for folder in folders for path in folder.files}
    there = set(own.files)
    older = [path for path in own.files if rotated_from(path) in there and path in parts_of(_log_of(path))]
    alone = [path for path in own.files if path not in in_folders and path not in older]
    remarks += _about_rotated(root, older)
    return LogTree(root, alone, links, folders, remarks, own.window)


def _entries(folder: Path, unreadable: list[str]) -> Iterator[os.DirEntry[str]]:
    """Sentences on folders that cannot be read go to `unreadable`."""
    waiting = [str(folder)]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        yield entry
        except OSError as error:
            unreadable.append(f"The folder {printable(path)[-200:]} is left out: {error.strerror}.")


def _size(entry: os.DirEntry[str]) -> int:
    """0 where it is gone by now."""
    try:
        return entry.stat().st_size
    except OSError:
        return 0


def _is_of_repeat(path: Path) -> bool:
    """An empty log is the trace of a repeat that failed."""
    return "repeat" in place(path) or dialect_at(path.absolute(), DIALECTS) is not None


def _is_text(path: str) -> bool:
    """A name may be bytes that are no text, and could then be in no report."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _about_odd_names(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    what = "1 file is" if len(names) == 1 else f"{len(names)} files are"
    return [f"{what} left out for a path that is not UTF-8, such as {names[0]!a:.80}."]


def _about_special(root: Path, paths: Sequence[Path]) -> list[str]:
    """A pipe would be waited for until somebody writes to it."""
    if not paths:
        return []
    name, kind = printable(paths[0].relative_to(root)), "pipe" if paths[0].is_fifo() else "device or a socket"
    if len(paths) == 1:
        return [f"{name} is no file but a {kind}, and left out."]
    return [f"{len(paths)} names are of no files but of pipes, devices or sockets, and left out, such as {name}."]


def _log_of(path: Path) -> Path:
    return rotated_from(path) or path


def _about_rotated(root: Path, older: Sequence[Path]) -> list[str]:
    if not older:
        return []
    first = older[0].relative_to(root)
    more = f" There are {len(older) - 1} more such files." if len(older) > 1 else ""
    return [f"{printable(first)} is the older part of {_log_of(first).name}, and read as one log with it.{more}"]


def by_numbers(path: Path) -> list[tuple[int, str]]:
    """run_2 before run_10."""
    parts = re.split(r"(\d{1,15})", str(path))
    return [(int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in parts]

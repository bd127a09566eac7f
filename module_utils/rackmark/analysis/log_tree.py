"""Finds the files of a tree that may be logs. What a link leads to is not part of the tree."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

MOST_FILES = 100_000


class LogTree(NamedTuple):
    """`links` are passed over."""

    root: Path
    files: Sequence[Path]
    links: Sequence[Path]


def find_logs(root: Path) -> LogTree:
    if not root.exists():
        raise ValueError(f"There is no folder {root}: give the folder that holds the logs, as in -e logs=DIR.")
    if root.is_file():
        return LogTree(root.parent, [root], [])
    files, links = [], []
    for entry in _entries(root):
        if entry.is_symlink():
            links.append(Path(entry.path))
        elif entry.is_file() and entry.stat().st_size:
            files.append(Path(entry.path))
        if len(files) > MOST_FILES:
            raise ValueError(f"{root} holds more than {MOST_FILES} files: analyze its parts one by one.")
    if not files:
        raise ValueError(f"{root} holds no file with anything in it.")
    return LogTree(root, sorted(files, key=by_numbers), links)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    waiting = [str(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry


def by_numbers(path: Path) -> list[tuple[int, str]]:
    """run_2 before run_10."""
    parts = re.split(r"(\d{1,15})", str(path))
    return [(int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in parts]

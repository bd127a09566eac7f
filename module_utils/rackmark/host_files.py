"""What a file of a host should be, and whether it is."""

from __future__ import annotations

import grp
import os
import pwd
import re
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Wanted:
    """A file as it should be. `content` is all of it, `block` only the part between two marker lines.

    With `target` it is a symbolic link.
    """

    path: Path
    content: str | None = None
    block: str | None = None
    marker: str = "# {mark} Rackmark"
    without: str | None = None
    target: str | None = None
    absent: bool = False
    directory: bool = False
    owner: str = "root"
    group: str = "root"
    mode: str = "0644"

    def __post_init__(self) -> None:
        kinds = [self.content is not None, self.block is not None, bool(self.target), self.absent, self.directory]
        if sum(kinds) != 1:
            raise ValueError(f"{self.path}: give exactly one of content, block, target, state=absent, state=directory.")
        if not re.fullmatch(r"0?[0-7]{3,4}", self.mode):
            raise ValueError(f"{self.path}: mode {self.mode!r} is not octal: use one like '0644'.")

    @property
    def permissions(self) -> int:
        return int(self.mode, 8)

    def new_text(self, old: str) -> str:
        if self.content is not None:
            return self.content
        kept = drop_lines(old, self.without) if self.without else old
        return with_block(kept, self.block or "", self.marker)


def drop_lines(text: str, pattern: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not re.search(pattern, line))


def with_block(text: str, block: str, marker: str) -> str:
    """The text with the block between its markers, in its old place or at the end; an empty block has no markers."""
    begin, end = (marker.replace("{mark}", mark) + "\n" for mark in ("BEGIN", "END"))
    new = f"{begin}{block.rstrip()}\n{end}" if block.strip() else ""
    found = re.compile(re.escape(begin) + r".*?" + re.escape(end), re.DOTALL)
    if found.search(text):
        return found.sub(lambda _: new, text, count=1)
    return (text if not text or text.endswith("\n") else text + "\n") + new


def read(path: Path) -> str | None:
    """Text of a file, None where there is none."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def differs_in_rights(wanted: Wanted) -> bool:
    """Owner, group or mode are not as wanted; names that do not exist yet (check mode) count as different."""
    try:
        state = wanted.path.stat()
        owner, group = pwd.getpwnam(wanted.owner).pw_uid, grp.getgrnam(wanted.group).gr_gid
    except (FileNotFoundError, KeyError):
        return True
    return (state.st_uid, state.st_gid, stat.S_IMODE(state.st_mode)) != (owner, group, wanted.permissions)


def set_rights(path: Path, wanted: Wanted) -> None:
    shutil.chown(path, wanted.owner, wanted.group)
    path.chmod(wanted.permissions)


def write_beside(wanted: Wanted, text: str) -> Path:
    """The new content in a temporary file next to its place, private until it has its owner."""
    make_parents(wanted.path)
    handle, name = tempfile.mkstemp(dir=wanted.path.parent, prefix=f".{wanted.path.name}.")
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))
        file.flush()
        os.fsync(file.fileno())
    return Path(name)


def make_parents(path: Path) -> None:
    """Folders above a file, readable by all whatever the umask is."""
    for folder in reversed(path.parents):
        if not folder.exists():
            folder.mkdir()
            folder.chmod(0o755)

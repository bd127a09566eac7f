"""What a file of a host should be, and whether it is."""

from __future__ import annotations

import grp
import os
import pwd
import re
import shlex
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List, Tuple

# Runs a command without a shell: its exit status, output and errors.
Run = Callable[[List[str]], Tuple[int, str, str]]


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


class Change:
    """One file that is not as it should be."""

    def __init__(self, wanted: Wanted, checker: str | None = None) -> None:
        self.wanted = wanted
        self.checker = checker
        has_text = not (wanted.directory or wanted.target or wanted.path.is_dir())
        self.old = read(wanted.path) if has_text else None
        self.new = wanted.new_text(self.old or "") if has_text and not wanted.absent else None
        self.prepared: Path | None = None

    @property
    def needed(self) -> bool:
        path = self.wanted.path
        if self.wanted.absent:
            return path.exists() or path.is_symlink()
        if self.wanted.target:
            return not path.is_symlink() or os.readlink(path) != self.wanted.target
        if self.wanted.directory:
            return not path.is_dir() or differs_in_rights(self.wanted)
        return self.old != self.new or differs_in_rights(self.wanted)

    def diff(self) -> dict[str, str]:
        wanted = self.wanted
        before, after = self.old or "", self.new or ""
        if wanted.absent:  # what goes need not be shown, and may be a secret
            before = "(is there)\n"
        elif wanted.directory:
            after = f"folder, mode {wanted.mode}\n"
        elif wanted.target:
            after = f"link to {wanted.target}\n"
        path = str(wanted.path)
        return {"before_header": path, "after_header": path, "before": printable(before), "after": printable(after)}

    def prepare(self, run: Run) -> None:
        """Write the new content beside the old and have it checked."""
        if self.new is None:
            return
        self.prepared = write_beside(self.wanted, self.new)
        set_rights(self.prepared, self.wanted)
        if self.checker:
            command = [word.replace("%s", str(self.prepared)) for word in shlex.split(self.checker)]
            status, output, errors = run(command)
            if status != 0:
                said = (errors or output).strip().replace(str(self.prepared), str(self.wanted.path))
                raise ValueError(
                    f"{self.wanted.path} was left as it is: '{self.checker.split()[0]}' refuses the new one: {said}"
                )

    def apply(self) -> None:
        path = self.wanted.path
        if self.wanted.absent:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        elif self.wanted.target:
            make_parents(path)
            if path.is_symlink() or path.exists():
                path.unlink()
            path.symlink_to(self.wanted.target)
        elif self.wanted.directory:
            make_parents(path)
            path.mkdir(exist_ok=True)
            set_rights(path, self.wanted)
        elif self.prepared:
            self.prepared.replace(path)
            self.prepared = None

    def discard(self) -> None:
        if self.prepared:
            self.prepared.unlink()


def printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def make(changes: list[Change], run: Run) -> None:
    """All of the changes; none of them when a checker refuses one."""
    try:
        for change in changes:
            change.prepare(run)
        for change in changes:
            change.apply()
    finally:
        for change in changes:
            change.discard()

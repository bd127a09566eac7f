"""What a file of a host should be, and whether it is."""

from __future__ import annotations

import grp
import os
import pwd
import re
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Collection, List, Tuple

from . import credentials, guarded_files

# Runs a command without a shell: its exit status, output and errors.
Run = Callable[[List[str]], Tuple[int, str, str]]


@dataclass(frozen=True)
class Wanted:
    """A file as it should be. `content` is all of it, `block` only the part between two marker lines.

    With `target` it is a symbolic link. With `claims_names` the names in the block (all words of a line but the first,
    as in /etc/hosts) stand nowhere else.
    """

    path: Path
    content: str | None = None
    block: str | None = None
    marker: str = "# {mark} Rackmark"
    without: str | None = None
    claims_names: bool = False
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
        block = self.block or ""
        if self.claims_names:
            kept = drop_words(kept, {word for line in block.splitlines() for word in line.split()[1:]})
        return with_block(kept, block, self.marker)


def drop_lines(text: str, pattern: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not re.search(pattern, line))


def drop_words(text: str, words: Collection[str]) -> str:
    """The text without these words after the first of each line; a line that had no others goes."""
    unwanted = {word.lower() for word in words}
    kept = []
    for line in text.splitlines(keepends=True):
        said, _, comment = line.partition("#")
        first, *others = said.split() or [""]
        left = [word for word in others if word.lower() not in unwanted]
        if left == others:
            kept.append(line)
        elif left:
            kept.append(" ".join([first, *left, *([f"#{comment}".rstrip()] if comment else [])]) + "\n")
    return "".join(kept)


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
    content = guarded_files.read(path)
    return None if content is None else content.decode("utf-8", "surrogateescape")


def differs_in_rights(wanted: Wanted) -> bool:
    """Owner, group or mode are not as wanted; names that do not exist yet (check mode) count as different."""
    state = guarded_files.state(wanted.path)
    try:
        return state is None or (state.st_uid, state.st_gid, stat.S_IMODE(state.st_mode)) != (
            *owner_of(wanted),
            wanted.permissions,
        )
    except KeyError:
        return True


def owner_of(wanted: Wanted) -> tuple[int, int]:
    return pwd.getpwnam(wanted.owner).pw_uid, grp.getgrnam(wanted.group).gr_gid


class Prepared:
    """The new content in a file beside its place, with the rights it is to have."""

    def __init__(self, wanted: Wanted, text: str) -> None:
        self.wanted = wanted
        content = text.encode("utf-8", "surrogateescape")
        self.path: Path | None = guarded_files.write_beside(wanted.path, content, wanted.permissions, *owner_of(wanted))

    def land(self) -> None:
        if self.path:
            guarded_files.rename(self.path, self.wanted.path.name)
            self.path = None

    def discard(self) -> None:
        if self.path:
            guarded_files.remove_file(self.path)
            self.path = None


class Change:
    """One file that is not as it should be."""

    def __init__(self, wanted: Wanted, checker: str | None = None) -> None:
        self.wanted = wanted
        self.checker = checker
        self.state = guarded_files.state(wanted.path)
        has_text = not (wanted.directory or wanted.target or wanted.absent)
        self.old = self._old_text() if has_text else None
        self.new = wanted.new_text(self.old or "") if has_text else None
        self.prepared: Prepared | None = None

    def _old_text(self) -> str | None:
        """What is no plain file is replaced where all of its content is ours, and refused where a part is."""
        is_file = self.state is not None and stat.S_ISREG(self.state.st_mode)
        return read(self.wanted.path) if is_file or self.wanted.block is not None else None

    @property
    def needed(self) -> bool:
        path = self.wanted.path
        if self.wanted.absent:
            return self.state is not None or path.is_symlink()
        if self.wanted.target:
            return not path.is_symlink() or os.readlink(path) != self.wanted.target
        if self.wanted.directory:
            return self.state is None or not stat.S_ISDIR(self.state.st_mode) or differs_in_rights(self.wanted)
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
        texts = {"before": before, "after": after}
        shown = {key: credentials.hidden(printable(text)) for key, text in texts.items()}
        return {"before_header": path, "after_header": path, **shown}

    def prepare(self, run: Run) -> None:
        """Write the new content beside the old and have it checked."""
        if self.new is None:
            return
        self.prepared = Prepared(self.wanted, self.new)
        if self.checker:
            beside = str(self.prepared.path)
            status, output, errors = run([word.replace("%s", beside) for word in shlex.split(self.checker)])
            if status != 0:
                said = (errors or output).strip().replace(beside, str(self.wanted.path))
                raise ValueError(
                    f"{self.wanted.path} was left as it is: '{self.checker.split()[0]}' refuses the new one: {said}"
                )

    def apply(self) -> None:
        wanted, path = self.wanted, self.wanted.path
        if wanted.absent:
            is_folder = self.state is not None and stat.S_ISDIR(self.state.st_mode) and not path.is_symlink()
            (guarded_files.remove_tree if is_folder else guarded_files.remove_file)(path)
        elif wanted.target:
            guarded_files.make_link(path, wanted.target)
        elif wanted.directory:
            guarded_files.make_folder(path, wanted.permissions, *owner_of(wanted))
        elif self.prepared:
            self.prepared.land()

    def discard(self) -> None:
        if self.prepared:
            self.prepared.discard()


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

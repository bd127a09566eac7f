"""What is mounted on a host, and whether it is what should be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

MOUNTS = Path("/proc/self/mountinfo")
FILE_SYSTEMS = Path("/proc/filesystems")
PORT = 2049
# Options that a mount shows as they were given. Others (rsize, nconnect ...) are settled between client and server.
_LASTING = {"nosuid", "suid", "nodev", "dev", "noexec", "exec", "ro", "rw", "hard", "soft", "vers", "timeo", "retrans"}
# Mounts do not show these, they are what a mount has without saying so.
_UNSAID = {"suid", "dev", "exec"}


@dataclass(frozen=True)
class Mount:
    kind: str
    source: str
    options: frozenset[str]

    def lacks(self, wanted: Iterable[str]) -> list[str]:
        """Of the options that a mount shows, those that this one has not."""
        shown = (option for option in wanted if option.partition("=")[0] in _LASTING - _UNSAID)
        return [option for option in shown if option not in self.options]


def mounted_at(path: str, mountinfo: str) -> Mount | None:
    """The mount that one sees at a path, which is the last one there."""
    found = None
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, (kind, source, more) = before.split(), after.split(" ", 2)
        if _plain(fields[4]) == path:
            found = Mount(kind, _plain(source), frozenset([*fields[5].split(","), *more.split(",")]))
    return found


def is_mounted_at(path: str, mountinfo: str) -> bool:
    """Whether NFS is what one sees at a path."""
    mount = mounted_at(path, mountinfo)
    return mount is not None and mount.kind.startswith("nfs")


def _plain(field: str) -> str:
    """The kernel writes spaces and the like as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)

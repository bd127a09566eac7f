"""Which Debian packages are installed, read from dpkg's own database, and who is at work on it."""

from __future__ import annotations

import fcntl
import re
import struct
from pathlib import Path
from typing import Iterable, Iterator, Mapping

STATUS = Path("/var/lib/dpkg/status")
# dpkg keeps its journal here while it works; what is left over means that it was interrupted.
JOURNAL = Path("/var/lib/dpkg/updates")
# Whoever changes packages holds one of these.
LOCKS = tuple(
    map(
        Path,
        (
            "/var/lib/dpkg/lock-frontend",
            "/var/lib/dpkg/lock",
            "/var/lib/apt/lists/lock",
            "/var/cache/apt/archives/lock",
        ),
    )
)
_FLOCK = "hhqqi4x"  # struct flock of 64-bit Linux: type, whence, start, length, process

LOCK_SECONDS = 20  # apt's own patience, for one that comes just between two of our own commands
_LOCKED = re.compile(r"lock(?:ed)? by another process|could not get lock|unable to (?:acquire|lock)\b", re.IGNORECASE)

_FIELD = re.compile(r"^(Package|Status|Version|Provides): (.*)$", re.MULTILINE)
_UNFINISHED = {"half-installed", "half-configured", "unpacked", "triggers-awaited", "triggers-pending"}


def installed_versions(status: str) -> dict[str, str]:
    """Version of every package that is installed and configured, by name; also of the virtual ones they provide."""
    versions: dict[str, str] = {}
    for fields in _stanzas(status):
        if not fields["Status"].endswith(" installed"):
            continue
        versions[fields["Package"]] = fields.get("Version", "")
        for provided in fields.get("Provides", "").split(","):
            if provided.strip():
                versions.setdefault(provided.split()[0].partition(":")[0], "")
    return versions


def half_done(status: str) -> list[str]:
    """Packages that dpkg began with and did not finish."""
    return [fields["Package"] for fields in _stanzas(status) if fields["Status"].split()[-1] in _UNFINISHED]


def interrupted(status: str) -> bool:
    return bool(half_done(status)) or any(path.name.isdigit() for path in JOURNAL.glob("*"))


def _stanzas(status: str) -> Iterator[dict[str, str]]:
    found = (dict(_FIELD.findall(stanza)) for stanza in status.split("\n\n"))
    return (fields for fields in found if "Package" in fields and "Status" in fields)


def missing(wanted: Iterable[str], installed: Mapping[str, str]) -> list[str]:
    """Of packages wanted as `name` or `name=version`, those that are not there like that."""
    absent = []
    for package in wanted:
        name, _, version = package.partition("=")
        if name not in installed or (version and installed[name] != version):
            absent.append(package)
    return absent


def holder(locks: Iterable[Path] = LOCKS) -> str | None:
    """The process that holds one of the locks, with its name; None where all are free."""
    for path in locks:
        try:
            with path.open("rb") as file:
                question = struct.pack(_FLOCK, fcntl.F_WRLCK, 0, 0, 0, 0)
                kind, *_, pid = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, question))
        except FileNotFoundError:
            continue
        if kind != fcntl.F_UNLCK:
            return f"process {pid} ({_name(pid)})"
    return None


def at_work(errors: str = "") -> str | None:
    """Who keeps us from packages now, or did when a command of ours ended with these errors."""
    return holder() or ("another process" if _LOCKED.search(errors) else None)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "in another container"

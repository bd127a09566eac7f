"""Which paths a cluster can use for what."""

from __future__ import annotations

import re
from pathlib import Path

# Folders of the system, with all that is in them.
_SYSTEM = {
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "proc",
    "root",
    "run",
    "sbin",
    "sys",
    "tmp",
    "usr",
}
# Folders that hold other things, which may be in use below.
_CROWDED = {
    "/",
    "/opt",
    "/var",
    *(f"/var/{name}" for name in ("backups", "cache", "lib", "log", "mail", "run", "spool", "tmp")),
}
# Folders that are somebody's, and whose owner must not change.
_OWNED = ("/home", "/media", "/mnt", "/srv")

ABSOLUTE = "an absolute path of letters, digits and . _ - + @ : without .. in it"
SHARED_FOLDER = f"{ABSOLUTE}, which is no folder of the system, as in /userhome"
DATA_FOLDER = f"{ABSOLUTE}, which is a folder of its own, as in /var/lib/name"


def is_absolute(text: str) -> bool:
    return re.fullmatch(r"/[\w.+@:/-]*", text, re.ASCII) is not None and ".." not in text.split("/")


def is_shared_folder(text: str) -> bool:
    """A folder that is exported, mounted over, or given to users."""
    return is_absolute(text) and not _is_of_the_system(text)


def is_data_folder(text: str) -> bool:
    """A folder that is given to one service."""
    return is_shared_folder(text) and _normal(text) not in _OWNED


def is_file_here(text: str) -> bool:
    """A relative path is looked up by Ansible in several places, which are not known here."""
    if not text or not text.isprintable():
        return False
    path = Path(text).expanduser()
    return path.is_file() if path.is_absolute() else True


def _is_of_the_system(text: str) -> bool:
    path = _normal(text)
    return path in _CROWDED or path.split("/")[1] in _SYSTEM


def _normal(text: str) -> str:
    """Without doubled slashes, single dots and a slash at the end."""
    return "/" + "/".join(part for part in text.split("/") if part not in ("", "."))

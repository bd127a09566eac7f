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
    "lost+found",
    "nix",
    "proc",
    "root",
    "run",
    "sbin",
    "snap",
    "sys",
    "tmp",
    "usr",
}
# Folders of services, each with one of its own.
_OF_SERVICES = {f"/var/{name}" for name in ("backups", "cache", "lib", "log", "mail", "run", "spool", "tmp")}
# Folders that hold other things, which may be in use below.
_CROWDED = {"/", "/opt", "/var", *_OF_SERVICES}
# Folders that are somebody's, and whose owner must not change.
_OWNED = ("/home", "/media", "/mnt", "/srv")

ABSOLUTE = "an absolute path of letters, digits and . _ - + @ : without .. in it"
# A colon parts folders in PATH, and the two sides of a container's mount.
SHARED_FOLDER = (
    "an absolute path of letters, digits and . _ - + @ without .. in it, which is no folder of the system or of a"
    " service, as in /userhome"
)
DATA_FOLDER = f"{ABSOLUTE}, which is a folder of its own, as in /var/lib/name"
OWN_FOLDER = (
    "a path of letters, digits and . _ - + @ from / or ~ on, without .. in it, which is no folder of the system"
)


def is_absolute(text: str) -> bool:
    return re.fullmatch(r"/[\w.+@:/-]*", text, re.ASCII) is not None and ".." not in text.split("/")


def is_shared_folder(text: str) -> bool:
    """A folder that is exported, mounted over, or given to users."""
    below_services = any(_normal(text).startswith(f"{folder}/") for folder in _OF_SERVICES)
    return is_absolute(text) and ":" not in text and not _is_of_the_system(text) and not below_services


def is_data_folder(text: str) -> bool:
    """A folder that is given to one service."""
    return is_absolute(text) and not _is_of_the_system(text) and _normal(text) not in _OWNED


def is_own_folder(text: str) -> bool:
    """A folder that a user writes to, who may be one of this machine alone and have it below /tmp."""
    path = re.sub(r"^~[a-z_][a-z0-9_-]*|^~", "/home/user", text)
    return is_absolute(path) and ":" not in path and not _is_of_the_system(path.replace("/tmp/", "/userhome/", 1))


def is_file_here(text: str) -> bool:
    """A relative path is looked up by Ansible in several places, which are not known here."""
    if not text or not text.isprintable() or text.startswith("-----"):
        return False
    path = Path(text).expanduser()
    return path.is_file() if path.is_absolute() else True


def _is_of_the_system(text: str) -> bool:
    path = _normal(text)
    return path in _CROWDED or path.split("/")[1] in _SYSTEM


def _normal(text: str) -> str:
    """Without doubled slashes, single dots and a slash at the end."""
    return "/" + "/".join(part for part in text.split("/") if part not in ("", "."))

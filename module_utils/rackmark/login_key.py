"""The SSH key that a user has on every host of a cluster. The home is the user's: call these with as_user."""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path

from .host_files import Change, Wanted, make, read, with_block

KEY_NAME = "id_ed25519"
MARKER = "# {mark} Rackmark: between the hosts of the cluster"
ASIDE = ".set-aside-by-rackmark"
_KEY = re.compile(
    r"\s*-----BEGIN OPENSSH PRIVATE KEY-----\n[A-Za-z0-9+/=\n]{100,20000}\n-----END OPENSSH PRIVATE KEY-----\s*"
)


def is_private_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None


def files(home: Path) -> list[Path]:
    folder = home / ".ssh"
    return [folder, folder / KEY_NAME, folder / f"{KEY_NAME}.pub", folder / "authorized_keys"]


def present_key(home: Path) -> str | None:
    """The user's private key; None where there is none, or something that is not a key of his own."""
    path = home / ".ssh" / KEY_NAME
    if not _is_readable_file(_mode(path)):
        return None
    text = read(path)
    return text if text is not None and is_private_key(text) else None


def settle(home: Path, owner: str, private: str, public: str, only_look: bool) -> bool:
    """Whether the files were not as they should be; they are now, unless this only looks."""
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK, effective_ids=True):
        raise ValueError(f"{home} is closed to {owner} itself: 'chown {owner} {home}; chmod u+rwx {home}' opens it.")
    outdated = False
    for wanted in _files(home, owner, private, public):
        odd = _is_odd(wanted)
        if odd and not only_look:
            wanted.path.replace(wanted.path.with_name(f"{wanted.path.name}{ASIDE}-{secrets.token_hex(4)}"))
        if only_look and (odd or outdated):
            return True
        change = Change(wanted)
        if change.needed:
            outdated = True
            if not only_look:
                # One by one: the folder has to be there before what is in it.
                make([change], _no_checker)
    return outdated


def withdraw(home: Path, owner: str, only_look: bool) -> bool:
    """Take the cluster's key away, and nothing else: whether there was anything of it."""
    folder = home / ".ssh"
    wanted = [Wanted(folder / name, absent=True) for name in (KEY_NAME, f"{KEY_NAME}.pub")]
    allowed = folder / "authorized_keys"
    text = read(allowed) if _is_readable_file(_mode(allowed)) else None
    if text and with_block(text, "", MARKER) != text:
        wanted.append(_allowed(home, owner, ""))
    changes = [change for change in map(Change, wanted) if change.needed]
    if not only_look:
        make(changes, _no_checker)
    return bool(changes)


def _files(home: Path, owner: str, private: str, public: str) -> list[Wanted]:
    folder = home / ".ssh"
    return [
        Wanted(folder, directory=True, mode="0700", owner=owner, group=owner),
        Wanted(folder / KEY_NAME, content=private, mode="0600", owner=owner, group=owner),
        Wanted(folder / f"{KEY_NAME}.pub", content=public, mode="0644", owner=owner, group=owner),
        _allowed(home, owner, public),
    ]


def _allowed(home: Path, owner: str, public: str) -> Wanted:
    path = home / ".ssh" / "authorized_keys"
    return Wanted(path, block=public, marker=MARKER, mode="0600", owner=owner, group=owner)


def _is_odd(wanted: Wanted) -> bool:
    """Something else in its place: a link, a folder for a file. It is kept under another name, for its owner to see."""
    mode = _mode(wanted.path)
    return bool(mode) and not (stat.S_ISDIR(mode) if wanted.directory else _is_readable_file(mode))


def _is_readable_file(mode: int) -> bool:
    return stat.S_ISREG(mode) and bool(mode & stat.S_IRUSR)


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return 0


def _no_checker(command: list[str]) -> tuple[int, str, str]:
    raise AssertionError(f"no file of a user has a checker, and {command} was to be run")

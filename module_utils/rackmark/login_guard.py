"""sshd's PAM stack on a compute node: users get in through a job of theirs, administrators as ever."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Sequence

SSHD = "/etc/pam.d/sshd"
COMMON_SESSION = "/etc/pam.d/common-session"
_INCLUDE = re.compile(r"^@include[ \t]+common-session[ \t]*$", re.MULTILINE)
_BLOCK = re.compile(r"^# BEGIN Rackmark: (\w+).*?^# END Rackmark: \1$\n?", re.MULTILINE | re.DOTALL)
_REPLACED = "# In place of: "
_MODULE = "pam_slurm_adopt.so"
_NAME = re.compile(r"[A-Za-z0-9_.@-]+")


class GuardError(Exception):
    """Why a host's PAM stack is left as it is, as a sentence with the way out."""


@dataclass(frozen=True)
class Guard:
    """Who is an administrator, and what Slurm calls this node."""

    node: str
    users: Sequence[str] = ()
    groups: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in (self.node, *self.users, *self.groups):
            if not _NAME.fullmatch(name):
                raise GuardError(f"'{name}' is no name of a user or a group: correct slurm_access_users or _groups.")

    def admits(self, user: str, uid: int, groups: Sequence[str]) -> bool:
        return uid == 0 or user in self.users or bool(set(groups) & set(self.groups))

    @property
    def conditions(self) -> list[str]:
        """What makes an administrator; root's needs no name service."""
        users = [f"user in {':'.join(self.users)}"] if self.users else []
        return ["uid eq 0", *users, *(f"user ingroup {group}" for group in self.groups)]


def guarded(sshd: str, common_session: str, guard: Guard) -> str:
    """/etc/pam.d/sshd with the guard. It includes no file of our own: one that is missing would lock everybody out."""
    plain = unguarded(sshd)
    if _MODULE in _statements(plain):
        raise GuardError(
            f"{SSHD} has a line with {_MODULE} that is not Rackmark's: remove it, or leave the node to whoever wrote it"
            " with slurm_access_enabled: false."
        )
    found = _INCLUDE.search(plain)
    if not found:
        raise GuardError(
            f"{SSHD} has no line '@include common-session' as Debian's and Ubuntu's have: put the file of the package"
            " openssh-server back, or switch the guard off with slurm_access_enabled: false."
        )
    session = _block("session", [_REPLACED + found[0], *_session(common_session, guard)])
    before, after = plain[: found.start()], plain[found.end() + 1 :]
    return before + session + _closed(after) + _block("account", _account(guard))


def unguarded(sshd: str) -> str:
    """The text without the guard, as it was before."""

    def original(block: re.Match[str]) -> str:
        replaced = [line for line in block[0].splitlines() if line.startswith(_REPLACED)]
        return "".join(line[len(_REPLACED) :] + "\n" for line in replaced)

    return _BLOCK.sub(original, sshd)


def _account(guard: Guard) -> list[str]:
    admitted = guard.conditions
    skip = [
        f"account [success={len(admitted) - place} default=ignore] pam_succeed_if.so quiet {condition}"
        for place, condition in enumerate(admitted)
    ]
    options = f"nodename={guard.node} action_adopt_failure=deny action_generic_failure=deny"
    return [*skip, f"account required {_MODULE} {options}", "account required pam_permit.so"]


def _session(common_session: str, guard: Guard) -> list[str]:
    """As common-session, but pam_systemd for administrators alone: it would take users out of their job's cgroup."""
    lines: list[str] = []
    for line in _statements(common_session).splitlines():
        if "pam_systemd.so" in line:
            admitted = guard.conditions
            lines += [
                f"session [success={len(admitted) - place} default=ignore] pam_succeed_if.so quiet {condition}"
                for place, condition in enumerate(admitted)
            ]
            lines += ["session [default=1] pam_permit.so", line, "session optional pam_permit.so"]
        else:
            lines.append(line)
    return lines


def _statements(text: str) -> str:
    """Without comments and empty lines; lines that go on are joined."""
    joined = re.sub(r"\\\n", " ", text)
    kept = (re.sub(r"(^|\s)#.*", "", line).rstrip() for line in joined.splitlines())
    return "".join(f"{line}\n" for line in kept if line)


def _block(name: str, lines: Sequence[str]) -> str:
    return "\n".join([f"# BEGIN Rackmark: {name}", *lines, f"# END Rackmark: {name}"]) + "\n"


def _closed(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"

"""Which variables nobody reads, mostly because they are misspelt."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Collection, Iterable

CLOSE = 0.75
# A variable of Ansible's that nobody knows may as well be one's own: only what is all but the same counts.
ALL_BUT_THE_SAME = 0.88
# Two letters that changed their places, or one that is wrong or missing.
A_SLIP = 0.9
# How Ansible reaches hosts and becomes root there.
_BOTH = ("host", "pass", "password", "pipelining", "port", "private_key_file", "timeout", "user")
_OF_SSH = ("args", "common_args", "extra_args", "executable", "host_key_checking", "retries", "transfer_method")
_OF_BECOME = ("exe", "flags", "method", "pass", "password", "user")
_OTHERS = ("become", "connection", "python_interpreter", "remote_tmp", "shell_executable", "shell_type", "sudo_pass")
_OF_CONNECTIONS = frozenset(
    f"ansible_{name}"
    for name in (
        *_BOTH,
        *(f"ssh_{name}" for name in (*_BOTH, *_OF_SSH)),
        *(f"become_{name}" for name in _OF_BECOME),
        *_OTHERS,
    )
)


@dataclass(frozen=True)
class Known:
    """What can be set: variables by the role they belong to, and what playbooks take from the command line."""

    by_role: dict[str, Collection[str]]
    command_line: Collection[str]

    def __contains__(self, name: str) -> bool:
        return name in self.command_line or any(name in names for names in self.by_role.values())

    def role_of(self, name: str) -> str | None:
        roles = [role for role in self.by_role if name.startswith(f"{role}_")]
        return max(roles, key=len) if roles else None

    def explain(self, name: str) -> tuple[str, str]:
        """What is wrong with a name that is not known, and what to do."""
        role = self.role_of(name)
        close = get_close_matches(name, self._all(), 1, CLOSE)
        belongs = f"is not a variable of role {role}" if role else "is not a variable that a playbook knows"
        documented = f"roles/{role or 'cluster'}/README.md lists those that are."
        return f"{name} {belongs}", f"did you mean {close[0]}?" if close else documented

    def meant_by(self, name: str) -> str | None:
        """The variable of a role that a name stands for whose beginning is misspelt; another length is another name."""
        of_roles = {known for names in self.by_role.values() for known in names if abs(len(known) - len(name)) <= 1}
        close = get_close_matches(name, sorted(of_roles), 1, A_SLIP)
        return close[0] if close else None

    def _all(self) -> Iterable[str]:
        return sorted({*self.command_line, *(name for names in self.by_role.values() for name in names)})


def is_private(name: str) -> bool:
    """Ansible's own variables, and those of a role's inside."""
    return name.startswith(("_", "ansible_"))


def meant_by(name: str) -> str | None:
    """The variable of a connection that a misspelt one stands for."""
    if name in _OF_CONNECTIONS or not name.startswith("ansible_"):
        return None
    close = get_close_matches(name, sorted(_OF_CONNECTIONS), 1, ALL_BUT_THE_SAME)
    return close[0] if close else None

"""What a host lacks that is to work as another user: what sudo says of it, as a sentence with the fix."""

from __future__ import annotations

import re

_NO_SUDO = re.compile(r"sudo: (?:command )?not found")
_NO_USER = re.compile(r"sudo: (?:unknown user:?|user) '?([^\s']+)'?(?:\n| not found|$)")


def lacking_for_user(said: str, host: str) -> str | None:
    if _NO_SUDO.search(said):
        return (
            f"There is no sudo on {host}, and working as another user takes it: 'apt-get install sudo' there; with no"
            " cluster yet, run 'ansible-playbook site.yml' first."
        )
    unknown = _NO_USER.search(said)
    if unknown is None:
        return None
    return (
        f"There is no user {unknown[1]} on {host}: run 'ansible-playbook site.yml' first, or give -e benchmark_user=''"
        " to work as the user that logs in."
    )

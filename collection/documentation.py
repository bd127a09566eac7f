"""What Ansible wants to read in the documentation of a collection's module, and is the same in all of ours."""

from __future__ import annotations

import re

ATTRIBUTES = {
    "check_mode": "Says what it would change, and changes nothing.",
    "diff_mode": "Shows what it changes.",
    "action": "Works on the control machine, too.",
}
AUTHOR = "author: [Rackmark (!UNKNOWN)]"

_AUTHOR = re.compile(r"^author:\n  - Rackmark\n", re.MULTILINE)
_ATTRIBUTE = re.compile(rf"^  ({'|'.join(ATTRIBUTES)}):\n(?!(?:    .*\n)*?    description:)", re.MULTILINE)


def completed(module: str) -> str:
    """A module's text with its author, and what its attributes mean."""
    begin, attributes, rest = _AUTHOR.sub("", module, count=1).partition("\nattributes:\n")
    described = _ATTRIBUTE.sub(lambda name: f"{name[0]}    description: {ATTRIBUTES[name[1]]}\n", rest)
    return f"{begin}\n{AUTHOR}{attributes}{described}" if attributes else module

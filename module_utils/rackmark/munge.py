"""The key that munge shares with the whole cluster, as text."""

from __future__ import annotations

import base64
import binascii

# What munge takes; the longest is what Rackmark makes.
SHORTEST, LONGEST = 32, 1024
RULE = f"the base64 text of {SHORTEST} to {LONGEST} random bytes, as from: openssl rand -base64 {LONGEST}"


def decoded(text: str) -> bytes:
    """The key itself, or ValueError with a sentence that does not show it. Lines may be broken, as openssl does."""
    try:
        key = base64.b64decode("".join(text.split()).encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        raise ValueError(f"The munge key is not base64: use {RULE}.") from None
    if not SHORTEST <= len(key) <= LONGEST:
        raise ValueError(f"The munge key has {len(key)} bytes: use {RULE}.")
    return key


def is_key(text: str) -> bool:
    try:
        decoded(text)
    except ValueError:
        return False
    return True

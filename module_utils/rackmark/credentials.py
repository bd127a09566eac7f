"""Users and passwords in URLs, as in http://user:password@proxy.example.org:3128."""

from __future__ import annotations

import re
from typing import Any

_LOGIN = re.compile(r"(?<=://)[^/\s@]+(?:@[^/\s@]+)*@(?=[^/\s@])")
# A password may hold what belongs encoded.
_NEARLY = re.compile(r"://\S+@")
_OF_SECRETS = ("pass", "secret", "token", "key")
_SECRET = re.compile(
    rf"""(\w*(?:{"|".join(_OF_SECRETS)})\w*["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s,}}]+)""", re.IGNORECASE
)


def has_credentials(value: Any) -> bool:  # noqa: ANN401
    """Whether a URL anywhere in it has a user or a password."""
    if isinstance(value, dict):
        return any(map(has_credentials, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(has_credentials, value))
    return isinstance(value, str) and _LOGIN.search(value) is not None


def without_credentials(text: str) -> str:
    """For files and environments that everybody reads; the URLs work as far as they go."""
    return _LOGIN.sub("", text)


def hidden(text: str) -> str:
    """For sentences: more than credentials may be gone."""
    return _NEARLY.sub("://***@", text)


def hidden_values(word: str) -> str:
    """A word of a command line without credentials and without values that by their names are secrets."""
    return _SECRET.sub(r"\1***", hidden(word))

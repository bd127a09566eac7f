"""Passwords of exporters and their bcrypt hashes, made with the C library's crypt."""

from __future__ import annotations

import ctypes
import hmac
import secrets

COST = 10
LIBRARY = "libcrypt.so.1"
_SALT_CHARACTERS = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_LAST_SALT_CHARACTERS = ".Oeu"  # the 22nd carries two bits


def new_password() -> str:
    return secrets.token_urlsafe(32)


def hashed(password: str, cost: int = COST) -> str:
    salt = "".join(secrets.choice(_SALT_CHARACTERS) for _ in range(21)) + secrets.choice(_LAST_SALT_CHARACTERS)
    return _crypt(password, f"$2b${cost:02}${salt}")


def matches(password: str, known: str) -> bool:
    """A hash of another cost than ours counts as another hash."""
    return known.startswith(f"$2b${COST}$") and hmac.compare_digest(_crypt(password, known), known)


def _crypt(password: str, setting: str) -> str:
    try:
        crypt = ctypes.CDLL(LIBRARY).crypt
    except OSError as error:
        raise ValueError(f"The C library's {LIBRARY} is missing on this host ({error}): install libcrypt1.") from error
    crypt.restype = ctypes.c_char_p
    crypt.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    result: bytes | None = crypt(password.encode(), setting.encode())
    if not result or not result.startswith(b"$2b$"):
        raise ValueError(
            f"{LIBRARY} of this host knows no bcrypt: it is not libxcrypt, as on Debian 11 and Ubuntu 20.04 or later."
        )
    return result.decode()

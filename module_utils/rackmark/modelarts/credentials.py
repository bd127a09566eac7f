"""The keys of the cloud account. This is the only place that reads them, and they are never shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass

from .errors import CredentialsError

# From the environment, as Huawei Cloud's own tools read them, or as variables of a vault.
ACCESS_KEY = ("HUAWEICLOUD_SDK_AK", "modelarts_access_key")
SECRET_KEY = ("HUAWEICLOUD_SDK_SK", "modelarts_secret_key")
SECURITY_TOKEN = ("HUAWEICLOUD_SDK_SECURITY_TOKEN", "modelarts_security_token")


@dataclass(frozen=True, repr=False)
class Credentials:
    access_key: str
    secret_key: str
    security_token: str = ""  # of temporary keys only

    def hidden(self, text: str) -> str:
        """The text without any of the keys: for messages of other people's programs."""
        for value in filter(None, astuple(self)):
            text = text.replace(value, "***")
        return text


def credentials(environment: Mapping[str, str], given: Mapping[str, str]) -> Credentials:
    """What was given, such as from a vault, wins over the environment; the two are never mixed."""
    if any(given.get(name) for _, name in (ACCESS_KEY, SECRET_KEY, SECURITY_TOKEN)):
        found = [given.get(name, "") for _, name in (ACCESS_KEY, SECRET_KEY, SECURITY_TOKEN)]
        names = (ACCESS_KEY[1], SECRET_KEY[1])
    else:
        found = [environment.get(name, "") for name, _ in (ACCESS_KEY, SECRET_KEY, SECURITY_TOKEN)]
        names = (ACCESS_KEY[0], SECRET_KEY[0])
    access_key, secret_key, security_token = (value.strip() for value in found)
    lacking = [name for name, value in zip(names, (access_key, secret_key)) if not value]
    if len(lacking) == 2:
        raise CredentialsError(
            f"There are no keys for the cloud: export {ACCESS_KEY[0]} and {SECRET_KEY[0]}, "
            f"or give {ACCESS_KEY[1]} and {SECRET_KEY[1]} from a vault."
        )
    if lacking:
        other = next(name for name in names if name not in lacking)
        raise CredentialsError(f"{lacking[0]} is empty while {other} is not: give both, from the same place.")
    for name, value in zip((*names, "the security token"), (access_key, secret_key, security_token)):
        if not value.isascii() or not value.isprintable() or " " in value:
            raise CredentialsError(
                f"{name} holds a character that no key has, such as a blank or a line end: copy the key again."
            )
    return Credentials(access_key, secret_key, security_token)

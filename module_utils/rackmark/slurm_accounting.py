"""Slurm's accounting: the database below it and what is registered in it."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Iterable, Mapping

DATABASE = "slurm_acct_db"
USER = "slurm"


def new_password() -> str:
    return secrets.token_urlsafe(32)


def password_in(config: str) -> str | None:
    """The password in a slurmdbd.conf."""
    found = re.search(r"^StoragePass=(\S+)$", config, re.MULTILINE)
    return found.group(1) if found else None


def with_password(config: str, password: str) -> str:
    return f"{config.rstrip()}\nStoragePass={password}\n"


def hashed(password: str) -> str:
    """As MariaDB keeps it, so that the password itself is in no statement and no log of the database."""
    inner = hashlib.sha1(password.encode()).digest()
    return "*" + hashlib.sha1(inner).hexdigest().upper()


# One row: whether the database is there, whether the user may use it, and the hash of its password.
QUESTION = (
    f"SELECT (SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME='{DATABASE}'),"
    f" (SELECT COUNT(*) FROM information_schema.SCHEMA_PRIVILEGES WHERE TABLE_SCHEMA='{DATABASE}'"
    f" AND GRANTEE=\"'{USER}'@'localhost'\" AND PRIVILEGE_TYPE='CREATE'),"
    " IFNULL((SELECT IF(authentication_string='', Password, authentication_string)"
    f" FROM mysql.user WHERE User='{USER}' AND Host='localhost'), '');"
)


def is_ready(answer: str, password: str) -> bool:
    return answer.split() == ["1", "1", hashed(password)]


def statements(password: str) -> str:
    """What makes the database ready, in any state it may be in."""
    identified = f"'{USER}'@'localhost' IDENTIFIED BY PASSWORD '{hashed(password)}'"
    return (
        f"CREATE DATABASE IF NOT EXISTS {DATABASE};\n"
        f"CREATE USER IF NOT EXISTS {identified};\n"
        f"ALTER USER {identified};\n"
        f"GRANT ALL ON {DATABASE}.* TO '{USER}'@'localhost';\n"
    )


@dataclass(frozen=True)
class Association:
    """A place in sacctmgr's tree: a cluster's root, an account, or a user in an account."""

    cluster: str
    account: str
    user: str = ""

    @property
    def words(self) -> list[str]:
        """What sacctmgr is told to add."""
        if self.user:
            return ["user", self.user, f"account={self.account}", f"cluster={self.cluster}"]
        if self.account != "root":
            return ["account", self.account, f"cluster={self.cluster}"]
        return ["cluster", self.cluster]


def parse_associations(output: str) -> set[Association]:
    """Of `sacctmgr --parsable2 --noheader show associations format=cluster,account,user`."""
    rows = (line.split("|") for line in output.splitlines())
    return {Association(*row) for row in rows if len(row) == 3}


OPERATORS = {"operator", "administrator"}


def parse_operators(output: str) -> set[str]:
    """Who sees what PrivateData hides, of `sacctmgr --parsable2 --noheader show users format=user,adminlevel`."""
    rows = (line.partition("|") for line in output.splitlines())
    return {user for user, _, level in rows if level.lower() in OPERATORS}


def wanted_associations(
    cluster: str, accounts: Mapping[str, Iterable[str]], operators: Iterable[str] = ()
) -> list[Association]:
    """Cluster first, then accounts, then users: sacctmgr wants this order. Slurm keeps names in lower case."""
    name = cluster.lower()
    tree = {account.lower(): [user.lower() for user in users] for account, users in accounts.items()}
    places = [
        Association(name, "root"),
        *(Association(name, account) for account in tree),
        *(Association(name, account, user) for account, users in tree.items() for user in users),
        *(Association(name, "root", user.lower()) for user in operators),
    ]
    return list(dict.fromkeys(places))

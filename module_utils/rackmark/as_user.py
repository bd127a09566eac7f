"""Doing something with the rights of a user and none of root's."""

from __future__ import annotations

import json
import os
import pwd
import select
import signal
import time
from typing import Callable, TypeVar, cast

SECONDS = 30
Result = TypeVar("Result")


def as_user(account: pwd.struct_passwd, work: Callable[[], Result], seconds: float = SECONDS) -> Result:
    """What `work` returns (JSON), done by a process of its own. Its errors are raised here as ValueError.

    Only the effective user changes: that one decides what a process may do with files, while the user himself can
    neither stop, end nor trace a process whose real user is root.
    """
    answer, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(answer)
        _answer(end, account, work)
    os.close(end)
    try:
        said = _read(answer, time.monotonic() + seconds)
    except TimeoutError:
        os.kill(child, signal.SIGKILL)  # not waited for: it may hang in a file system that does not answer
        raise ValueError(
            f"{account.pw_dir} of {account.pw_name} did not answer in {seconds:g} s: look at the storage that it is on."
        ) from None
    finally:
        os.close(answer)
    os.waitpid(child, 0)
    if not said:
        raise ValueError(f"What was done as {account.pw_name} ended without a word: look at the kernel's log.")
    result = json.loads(said)
    if "error" in result:
        raise ValueError(result["error"])
    return cast(Result, result["value"])


def _read(answer: int, deadline: float) -> bytes:
    said = b""
    while True:
        ready, _, _ = select.select([answer], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError
        part = os.read(answer, 65536)
        if not part:
            return said
        said += part


def _answer(end: int, account: pwd.struct_passwd, work: Callable[[], object]) -> None:
    """The child's whole life."""
    try:
        if os.geteuid() != account.pw_uid:
            os.initgroups(account.pw_name, account.pw_gid)
            os.setegid(account.pw_gid)
            os.seteuid(account.pw_uid)
        os.umask(0o077)
        os.chdir("/")
        try:
            result: dict[str, object] = {"value": work()}
        except (OSError, ValueError, LookupError) as error:
            result = {"error": str(error)}
        with os.fdopen(end, "wb") as file:
            file.write(json.dumps(result).encode())
    finally:
        os._exit(0)

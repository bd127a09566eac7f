"""Waiting, with a word, for whoever else is at work with apt or dpkg on a host."""

from __future__ import annotations

import time
from typing import Any, Callable

PATIENCE = 900.0
PAUSE = 2.0
LONGEST_PAUSE = 10.0


def when_free(ask: Callable[[], dict[str, Any]], host: str, say: Callable[[str], None]) -> dict[str, Any]:
    """What a module answers as soon as it no longer answers that somebody is `busy`; who that is is said once."""
    began, said, pause = time.monotonic(), "", PAUSE
    while True:
        done = ask()
        busy = done.get("busy")
        if not busy:
            return done
        if time.monotonic() - began > PATIENCE:
            msg = (
                f"Packages of {host} are still held by {busy} after {PATIENCE / 60:.0f} minutes: look at it there"
                " with ps, let it end or stop it, and run again."
            )
            return {**done, "failed": True, "msg": msg}
        if busy != said:
            say(f"\n           {host}: waiting for {busy}, which is at work with packages")
            said = busy
        time.sleep(pause)
        pause = min(pause * 1.3, LONGEST_PAUSE)

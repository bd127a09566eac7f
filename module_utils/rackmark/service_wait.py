"""Waiting for a service as long as it may still come up, and no longer."""

from __future__ import annotations

import os
import re
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List, Tuple

from . import last_words

PROPERTIES = ("ActiveState", "SubState", "NRestarts", "MainPID", "ExecMainStartTimestampMonotonic")
# For a service that is alive and does not answer yet, on a machine that may be very busy.
PATIENCE = 300
PAUSE = 0.25
# One that systemd starts again gets this chance, as after a dependency that was late.
RESTARTS = 1
_LISTENING = "0A"
_RECENT = 600.0

Run = Callable[[List[str]], Tuple[int, str, str]]


@dataclass(frozen=True)
class Life:
    """A service as systemd sees it."""

    state: str
    sub_state: str
    restarts: int
    pid: int
    started: float

    @property
    def is_over(self) -> bool:
        return self.state in ("failed", "inactive") or self.restarts > RESTARTS

    @property
    def word(self) -> str:
        return "failing again and again" if self.sub_state == "auto-restart" else self.state

    @property
    def has_died(self) -> bool:
        """Also where systemd is about to start it again."""
        return self.is_over or self.sub_state == "auto-restart"


def parse(shown: str, now: float, monotonic: float) -> Life:
    values = dict(line.partition("=")[::2] for line in shown.splitlines())
    started = int(values.get("ExecMainStartTimestampMonotonic") or 0) / 1e6
    return Life(
        values.get("ActiveState", "inactive"),
        values.get("SubState", ""),
        int(values.get("NRestarts") or 0),
        int(values.get("MainPID") or 0),
        now - monotonic + started if started else 0.0,
    )


class Service:
    def __init__(self, name: str, run: Run) -> None:
        self.name = name
        self.run = run

    def life(self) -> Life:
        _, shown, _ = self.run(["systemctl", "show", f"--property={','.join(PROPERTIES)}", self.name])
        return parse(shown, time.time(), time.monotonic())

    def last_words(self, since: float | None = None) -> str:
        """Since a moment; without one since it was last started, and of one that runs the last minutes."""
        if since is None:
            life = self.life()
            since = life.started if life.has_died else max(life.started, time.time() - _RECENT)
        return last_words.sentence(self.name, self.run, since)

    def listens(self) -> bool:
        pid = self.life().pid
        return bool(pid) and not sockets_of(pid).isdisjoint(listening(pid))


def sockets_of(pid: int) -> set[str]:
    found = set()
    for entry in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            found.update(re.findall(r"^socket:\[(\d+)\]$", os.readlink(entry)))
        except OSError:  # closed meanwhile
            continue
    return found


def listening(pid: int) -> set[str]:
    """Inodes of the TCP sockets on which somebody listens in the network that the process sees."""
    rows: list[list[str]] = []
    for name in ("tcp", "tcp6"):
        path = Path(f"/proc/{pid}/net/{name}")
        try:
            rows += [line.split() for line in path.read_text().splitlines()[1:]]
        except OSError:
            continue
    return {row[9] for row in rows if row[3] == _LISTENING}


def answers_at(address: str) -> str | None:
    """None where somebody answers at host:port, else what is wrong."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except OSError as error:
        return str(error)
    return None


def wait(service: Service, fault: Callable[[], str | None], seconds: float, second_chance: bool = True) -> str | None:
    """Until `fault` finds none: then None, else why it is no longer waited for, as the end of a sentence."""
    began = time.monotonic()
    wrong = fault()
    while wrong is not None:
        life = service.life()
        if life.is_over or (life.has_died and not second_chance):
            return f"does not stay up. {service.last_words()}"
        if time.monotonic() - began > seconds:
            return f"runs, but has not answered for {seconds:.0f} s ({wrong}). {service.last_words()}"
        time.sleep(PAUSE)
        wrong = fault()
    return None

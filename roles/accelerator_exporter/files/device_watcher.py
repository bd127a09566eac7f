"""Reads devices in a thread of its own, so that nobody who asks for the newest reading waits for a device."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass, replace
from typing import Protocol

from device_sources import DevicesRead

SOON = 1.0  # seconds until another try as long as nothing was ever read
_LONGEST_REASON = 200
_ROUNDS = 3  # a reading older than these is none
_SHORTEST_PATIENCE = 15.0


class Source(Protocol):
    def read(self, now: float) -> DevicesRead: ...


@dataclass(frozen=True)
class State:
    """`reading` has no rows when they are too old to be told. `failure` is why the devices are not read."""

    reading: DevicesRead
    age: float | None
    failure: str | None


class DeviceWatcher:
    def __init__(self, source: Source, seconds: float) -> None:
        self._source, self._seconds = source, seconds
        self.patience = max(_SHORTEST_PATIENCE, _ROUNDS * seconds)
        # These two are replaced as a whole, so that reading them needs no lock that a hanging thread could hold.
        self._reading: DevicesRead | None = None
        self._begun: float | None = None
        self._saying = threading.Lock()
        self._said: str | None = ""  # nothing yet, which is neither that they are read nor why not

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def state(self, now: float) -> State:
        reading = self._reading or DevicesRead()
        age = None if reading.told is None else max(0.0, now - reading.told)
        failure = self._failure(reading, age, now)
        self._say(failure)
        if age is None or age > self.patience:
            reading = replace(reading, rows={}, missing={})
        return State(reading, age, failure and failure[:_LONGEST_REASON])

    def read_once(self, now: float) -> None:
        self._begun = now
        try:
            self._reading = self._source.read(now)
        except Exception as error:  # whatever it is must be told in the metrics, and not end them
            failure = f"{type(error).__name__}: {error}"
            self._reading = replace(self._reading or DevicesRead(), failure=failure)
        self._begun = None
        self.state(now)

    def _failure(self, reading: DevicesRead, age: float | None, now: float) -> str | None:
        begun = self._begun
        if begun is not None and now - begun > self.patience:
            return f"hanging: A reading of the devices has not come back within {self.patience:g} s."
        if self._reading is None:
            return "starting: The first reading has not come back yet."
        if reading.failure is not None:
            return f"unreadable: {reading.failure}"
        if age is None or age > self.patience:
            return f"silent: Nothing was heard of the devices within {self.patience:g} s."
        return None

    def _run(self) -> None:
        while True:
            begun = time.monotonic()
            self.read_once(begun)
            wait = SOON if self._reading is None or self._reading.told is None else self._seconds
            time.sleep(max(SOON, begun + wait - time.monotonic()))

    def _say(self, failure: str | None) -> None:
        said = f"Devices are not read. {failure}" if failure else "Devices are read."
        with self._saying:
            if failure != self._said:
                print(said, file=sys.stderr, flush=True)
                self._said = failure

"""Pings from this node's Ascend devices to other devices, by hccn_tool: one at a time for each device."""

from __future__ import annotations

import re
import subprocess
import time
from collections import deque
from typing import Mapping, NamedTuple, Sequence

from .device_network import Answer, answer_of, start, tool

SECONDS_A_PING = 20.0
BUSY_PAUSE = 0.3
_POLL = 0.02
_TRIES = 2  # the first packet to a device may be lost while its hardware address is asked for

_COUNTS = re.compile(r"(\d+) packets transmitted, (\d+) received")
_TIME = re.compile(r"time\s*=\s*([0-9.]+)\s*ms")
_LOST = re.compile(r"recv time out seq|Destination Host Unreachable|Message too long")


class Ping(NamedTuple):
    """`mark`: REACHED, LOST (some or all packets) or UNKNOWN, where the tool gave no result; `said` tells more."""

    mark: str
    milliseconds: float | None
    said: str


REACHED, LOST, UNKNOWN = "+", "-", "?"
_BUSY = Ping(UNKNOWN, None, "hccn_tool was busy")


def outcome(answer: Answer) -> Ping:
    """Of the tool's answer, which ends like '3 packets transmitted, 2 received, 33.33% packet loss'."""
    if answer.status is None:
        return Ping(UNKNOWN, None, f"no answer within {SECONDS_A_PING:g} s")
    counts = _COUNTS.search(answer.text)
    if counts and int(counts[1]):
        sent, received = int(counts[1]), int(counts[2])
        if received >= sent:
            times = [float(text) for text in _TIME.findall(answer.text)]
            return Ping(REACHED, min(times) if times else None, "")
        return Ping(LOST, None, f"{sent - received} of {sent} packets lost")
    lines = answer.text.strip().splitlines() or ["nothing"]
    if _LOST.search(answer.text):
        return Ping(LOST, None, "all packets lost")
    return Ping(UNKNOWN, None, lines[-1].strip()[:200])


class _Running(NamedTuple):
    process: subprocess.Popen[bytes]
    place: int
    tries: int
    until: float


class _Pinging:
    """One device with what it has still to ping."""

    def __init__(self, program: str, number: int, left: Sequence[int], addresses: Mapping[int, str]) -> None:
        self.program = program
        self.number = number
        self.addresses = addresses
        self.left: deque[tuple[int, int]] = deque((place, 1) for place in left)
        self.running: _Running | None = None
        self.not_before = 0.0
        self.found: dict[int, Ping] = {}

    def goes_on(self) -> bool:
        """Takes what has ended and starts what is next. False when there is nothing more to do."""
        now = time.monotonic()
        if self.running and (self.running.process.poll() is not None or now > self.running.until):
            self._take(self.running, now)
            self.running = None
        if self.running is None and self.left and now >= self.not_before:
            place, tries = self.left.popleft()
            command = [self.program, "-i", str(self.number), "-ping", "-g", "address", self.addresses[place]]
            self.running = _Running(start(command), place, tries, now + SECONDS_A_PING)
        return bool(self.running or self.left)

    def _take(self, ended: _Running, now: float) -> None:
        answer = answer_of(ended.process)
        if answer.is_busy:  # somebody else asks this device at this moment
            self.left.appendleft((ended.place, ended.tries))
            self.not_before = now + BUSY_PAUSE
            self.found[ended.place] = _BUSY
            return
        self.found[ended.place] = outcome(answer)
        if self.found[ended.place].mark == LOST and ended.tries < _TRIES:
            self.left.appendleft((ended.place, ended.tries + 1))

    def stop(self) -> None:
        """What was to be tried again counts as not tested, unless the tool was busy for others all the time."""
        unfinished = [place for place, _ in self.left if place in self.found]
        if self.running:
            answer_of(self.running.process)
            unfinished.append(self.running.place)
        if len(self.found) > len(unfinished) or not self._was_busy(unfinished):
            for place in unfinished:
                self.found.pop(place, None)

    def _was_busy(self, places: Sequence[int]) -> bool:
        return any(self.found[place] == _BUSY for place in places if place in self.found)


def pings(
    queues: Mapping[int, Sequence[int]], addresses: Mapping[int, str], seconds: float
) -> dict[int, dict[int, Ping]]:
    """By the devices' numbers and the places of those that they pinged within the time, in the order of the queues."""
    program = tool()
    if program is None:
        raise FileNotFoundError("there is no hccn_tool here; it comes with the Ascend driver")
    deadline = time.monotonic() + seconds
    devices = [_Pinging(program, number, queue, addresses) for number, queue in queues.items()]
    try:
        busy = devices
        while busy and time.monotonic() < deadline:
            busy = [device for device in busy if device.goes_on()]
            time.sleep(_POLL)
    finally:
        for device in devices:
            device.stop()
    return {device.number: device.found for device in devices}

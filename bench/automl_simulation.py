"""What share of their time the nodes of a search train: hours simulated in seconds, with costs measured before.

A trial costs the same in both simulations: its process, its settings, its training. What differs is how its node comes
to the next network.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass

LOOK_EVERY = 5.0  # seconds: a worker says how far all are, for which it reads what is new
OPERATIONS_OF_A_FILE = 2  # an open, which brings the size, and a close
OPERATIONS_OF_AN_APPEND = 4  # open, write, commit, close
OPERATIONS_OF_A_RESERVATION = 3
OPERATIONS_OF_A_TRIAL = 100  # its log, its settings, its weights: within its training
# AIPerf's HEAD, master: one thread, in which every result takes an edit distance to each known network.
DISTANCE = 0.0255  # seconds of two ResNet-50s, bench/README.md
_SPREAD = 0.2  # of the length of trials


@dataclass(frozen=True)
class Storage:
    """What all nodes share. `operations` that it does in a second, `round_trip` in seconds."""

    operations: float
    round_trip: float


@dataclass(frozen=True)
class Costs:
    """Seconds of a processor. `look_file` and `look_record` for each, `network` beside the training of another."""

    append: float
    look_file: float
    look_record: float
    network: float
    settings: float
    begin: float


@dataclass(frozen=True)
class Asked:
    nodes: int
    trial: float  # seconds, on average
    hours: float

    @property
    def horizon(self) -> float:
        return self.hours * 3600

    def lengths(self) -> Lengths:
        return Lengths(self.trial)


class Lengths:
    """Of one trial after the other: the same for everything that is compared."""

    def __init__(self, average: float) -> None:
        self._random = random.Random(1)
        self._average = average

    def draw(self) -> float:
        return max(0.2, self._random.gauss(1.0, _SPREAD)) * self._average


class _Queue:
    """A storage that serves in the order of the requests."""

    def __init__(self, storage: Storage, busy: float) -> None:
        self._seconds = 1 / max(1.0, storage.operations - busy)
        self._round_trip = storage.round_trip
        self._free = 0.0

    def done(self, now: float, operations: float) -> float:
        begin = max(now, self._free)
        self._free = begin + operations * self._seconds
        return max(self._free, begin + operations * self._round_trip)


def share_of_files(asked: Asked, costs: Costs, storage: Storage, opens_per_second: float) -> float:
    """Workers that read each other's files: nobody waits for anybody, only for the storage."""
    others = asked.nodes - 1
    opens = min(others, LOOK_EVERY * opens_per_second / asked.nodes)  # of a look
    queue = _Queue(storage, busy=asked.nodes * opens / LOOK_EVERY * OPERATIONS_OF_A_FILE)
    new_records = 2 * asked.nodes / asked.trial * min(LOOK_EVERY, asked.trial)
    look = (1 + opens) * costs.look_file + new_records * costs.look_record
    operations_of_look = (1 + opens) * OPERATIONS_OF_A_FILE
    lengths = asked.lengths()
    # A trial has two events: its half, when the next network is begun, and its end. Both ask the storage.
    events: list[tuple[float, int, float]] = []
    training = 0.0
    ready = [0.0] * asked.nodes

    def start(node: int, now: float) -> None:
        nonlocal training
        length = lengths.draw()
        training += max(0.0, min(length, asked.horizon - now))
        ready[node] = -1.0
        heapq.heappush(events, (now + length / 2, node, now + length))

    for node in range(asked.nodes):
        start(node, 0.0)
    while events:
        now, node, end = heapq.heappop(events)
        if now >= asked.horizon:
            break
        if ready[node] < 0:
            read = queue.done(now, operations_of_look + OPERATIONS_OF_A_RESERVATION + OPERATIONS_OF_A_TRIAL)
            ready[node] = read + look + costs.network
            heapq.heappush(events, (end, node, end))
        else:
            written = queue.done(now, 2 * OPERATIONS_OF_AN_APPEND + operations_of_look) + 2 * costs.append + look
            start(node, max(written, ready[node]) + costs.settings + costs.begin)
    return training / (asked.nodes * asked.horizon)


def share_of_master(asked: Asked, costs: Costs) -> float:
    """AIPerf's master. Nothing is counted but the distances: neither its messages, nor the tuner that they carry."""
    lengths = asked.lengths()
    ends: list[tuple[float, int]] = []
    training, free, models = 0.0, 0.0, 0

    def start(node: int, now: float) -> None:
        nonlocal training
        length = lengths.draw()
        training += max(0.0, min(length, asked.horizon - now))
        heapq.heappush(ends, (now + length, node))

    for node in range(asked.nodes):
        start(node, 0.0)
    while ends and ends[0][0] < asked.horizon:
        now, node = heapq.heappop(ends)
        free = max(now, free) + models * DISTANCE
        models += 1
        start(node, free + costs.settings + costs.begin)
    return training / (asked.nodes * asked.horizon)

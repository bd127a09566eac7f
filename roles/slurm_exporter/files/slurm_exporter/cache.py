"""What Slurm has said last, asked again at most every so often and never by two at once."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Callable, Iterable, NamedTuple

from .command import SlurmError

OLDEST = 300.0  # seconds after which a value says nothing about the cluster any more
EARLY = 1.0  # a scrape may come a moment before its time


class Answer(NamedTuple):
    value: Any
    fault: str = ""  # what is missing of it


class View(NamedTuple):
    """A query as a scrape sees it."""

    up: bool
    value: Any
    age: float | None
    duration: float | None


class Query:
    """Asks in a thread of its own when it is told to. The condition that all share guards what it knows."""

    def __init__(self, name: str, ask: Callable[[], Answer], limit: float, keeps: bool) -> None:
        self.name = name
        self._ask = ask
        self._limit = limit  # seconds that an answer takes at most
        self._keeps = keeps  # whether the last value is worth something while there is no newer one
        self._answer: Answer | None = None
        self._asked_for_answer = 0.0
        self._fault: str | None = None  # of the last attempt; None before the first
        self._duration: float | None = None
        self._began: float | None = None
        self._wanted = False

    def want(self, now: float, interval: float) -> None:
        if not self._wanted and (self._began is None or now - self._began >= interval - EARLY):
            self._wanted, self._began = True, now

    def awaited(self, now: float, patience: float) -> bool:
        """Whether an answer may still come soon; one that is long overdue holds no further scrape up."""
        return self._wanted and self._began is not None and now - self._began < patience

    def view(self, now: float) -> View:
        hangs = self._wanted and self._began is not None and now - self._began > self._limit + 1
        age = now - self._asked_for_answer
        if self._answer is None or age > OLDEST or (hangs and not self._keeps):
            return View(False, None, None, self._duration)
        return View(self._fault == "" and not hangs, self._answer.value, age, self._duration)

    def run(self, condition: threading.Condition) -> None:
        while True:
            with condition:
                condition.wait_for(lambda: self._wanted)
            self.ask_once(condition)

    def ask_once(self, condition: threading.Condition) -> None:
        began = time.monotonic()
        answer, fault = self._attempt()
        with condition:
            if answer or not self._keeps:
                self._answer, self._asked_for_answer = answer, began
            self._tell(fault)
            self._fault, self._duration, self._wanted = fault, time.monotonic() - began, False
            condition.notify_all()

    def _attempt(self) -> tuple[Answer | None, str]:
        try:
            answer = self._ask()
        except SlurmError as error:
            return None, str(error)
        except Exception as error:  # the next attempt may go well, and needs this thread
            return None, f"What Slurm printed cannot be read ({error!r})."
        return answer, answer.fault

    def _tell(self, fault: str) -> None:
        """A sentence for each change, not for each attempt."""
        if fault and fault != self._fault:
            print(f"Slurm's {self.name}: {fault}", file=sys.stderr, flush=True)
        elif not fault and self._fault:
            print(f"Slurm's {self.name} can be asked again.", file=sys.stderr, flush=True)


class Cache:
    def __init__(self, queries: Iterable[Query], interval: float, patience: float) -> None:
        self._queries = list(queries)
        self._interval = interval
        self._patience = patience  # seconds that a scrape waits for fresh answers
        self._condition = threading.Condition()

    def start(self) -> None:
        for query in self._queries:
            threading.Thread(target=query.run, args=(self._condition,), name=query.name, daemon=True).start()

    def views(self) -> dict[str, View]:
        """All queries, with fresh answers where they come in time and the last known ones where not."""
        deadline = time.monotonic() + self._patience
        with self._condition:
            for query in self._queries:
                query.want(time.monotonic(), self._interval)
            self._condition.notify_all()
            while any(query.awaited(time.monotonic(), self._patience) for query in self._queries):
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._condition.wait(left)
            now = time.monotonic()
            return {query.name: query.view(now) for query in self._queries}

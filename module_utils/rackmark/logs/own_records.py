"""What programs say in lines of Rackmark's own beside their steps: `RACKMARK ` and one JSON object.

start       who the process is and with what it trains
eval        an evaluation
checkpoint  that the state of the training was written down
stated      numbers that the program has measured itself, by words of its own; null, with a reason, where it could not
trial       one trial of a search, with its numbers
progress    how far a search is, in numbers by words of its own
end         the end of the work
"""

from __future__ import annotations

import json
import math
from typing import Any, Callable, Mapping, TypeVar

from .clocks import SteadyClock
from .json_records import number, positive
from .reading import Evaluation, Fault, Pause, Reading, Trial

_Said = TypeVar("_Said", float, str)

MOST_TRIALS = 100_000
_MOST_PAUSES = 100_000
_WORDS = ("model", "framework", "precision", "host", "device")
_COUNTS = ("batch", "world_size", "rank")
_OF_A_TRAINING = ("model", "framework", "precision", "batch", "world_size")
_LONGEST_WORD = 64
_LONGEST_REASON = 300
_LARGEST_COUNT = 10**7
_LARGEST_STEP = 10**15
_MOST_WORDS = 256  # that a program states
_NO_NUMBERS = ("event", "time", "monotonic", "number", "state")


class OwnRecords:
    """Takes records one after the other into a reading."""

    def __init__(self, reading: Reading) -> None:
        self.clock = SteadyClock()
        self._reading = reading
        self._started: dict[str, Any] = {}
        self._left_out: set[str] = set()
        self._take: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "start": self._take_start,
            "eval": self._take_evaluation,
            "checkpoint": self._take_pause,
            "stated": self._take_stated,
            "trial": self._take_trial,
            "progress": self._take_progress,
            "end": self._take_end,
        }

    def take(self, record: Mapping[str, Any]) -> None:
        take = self._take.get(str(record.get("event")))
        if take is not None:
            take(record)

    def _take_start(self, record: Mapping[str, Any]) -> None:
        reading = self._reading
        if reading.began is None:
            reading.began = self.clock.time(record)
        facts = {**self._words(record), **self._counts(record)}
        resumed_from = number(record.get("resumed_from"))
        if resumed_from is not None:
            facts["resumed_from"] = int(resumed_from)
        for name in _OF_A_TRAINING:
            first = self._started.get(name)
            if first is not None and facts.get(name, first) != first and not reading.faults:
                reason = f"After a start with {name} {first} comes one with {facts[name]}"
                reading.faults.append(Fault("incomplete", f"{reason}: the log holds more than one training."))
        self._started.update({**facts, **self._started})
        for name, value in facts.items():
            reading.facts.setdefault(name, value)

    @staticmethod
    def _words(record: Mapping[str, Any]) -> dict[str, Any]:
        words = {name: record[name] for name in _WORDS if isinstance(record.get(name), str)}
        return {name: word[:_LONGEST_WORD].encode(errors="replace").decode() for name, word in words.items()}

    def _counts(self, record: Mapping[str, Any]) -> dict[str, Any]:
        counts = {}
        for name in _COUNTS:
            value = record.get(name)
            if type(value) is int and (0 if name == "rank" else 1) <= value < _LARGEST_COUNT:
                counts[name] = value
            elif value is not None and name not in self._left_out:
                self._left_out.add(name)
                said = json.dumps(value)[:40]
                self._reading.remarks.append(f"The log's {name} {said} is left out: it is no number that can be.")
        return counts

    def _take_evaluation(self, record: Mapping[str, Any]) -> None:
        self._take_pause(record)
        accuracy, seconds = number(record.get("accuracy")), positive(record.get("seconds"))
        if accuracy is None or not 0 <= accuracy <= 1:
            return
        self._reading.stated["accuracy"] = accuracy
        step, moment = record.get("step"), self.clock.time(record)
        if type(step) is int and 0 <= step < _LARGEST_STEP and seconds is not None and moment is not None:
            self._reading.evaluations.append(Evaluation(step, seconds, accuracy, number(record.get("loss")), moment))

    def _take_pause(self, record: Mapping[str, Any]) -> None:
        seconds, end = positive(record.get("seconds")), self.clock.time(record)
        if seconds is not None and end is not None and len(self._reading.pauses) < _MOST_PAUSES:
            self._reading.pauses.append(Pause(seconds, end))

    def _take_stated(self, record: Mapping[str, Any]) -> None:
        """The last word counts. What is null is for the record's `reason`."""
        _keep(self._reading.stated, _numbers(record))
        _keep(self._reading.unstated, _no_numbers(record))
        reason = record.get("reason")
        if isinstance(reason, str):
            missing = [name[:_LONGEST_WORD] for name, value in record.items() if value is None]
            _keep(self._reading.unstated, dict.fromkeys(missing, reason[:_LONGEST_REASON]))

    def _take_trial(self, record: Mapping[str, Any]) -> None:
        trials = self._reading.trials
        place = record.get("number")
        if len(trials) < MOST_TRIALS:
            known = type(place) is int and 0 <= place < _LARGEST_COUNT
            trials.append(
                Trial(int(place or 0) if known else len(trials) + 1, record.get("state") == "ok", _numbers(record))
            )

    def _take_progress(self, record: Mapping[str, Any]) -> None:
        """The last word counts."""
        self._reading.progress = dict(list(_numbers(record).items())[:_MOST_WORDS])

    def _take_end(self, record: Mapping[str, Any]) -> None:
        self._reading.ended = self.clock.time(record)
        if "weights" in record:
            self._reading.facts["weights"] = number(record["weights"])


def _keep(kept: dict[str, _Said], new: Mapping[str, _Said]) -> None:
    for name, value in new.items():
        if name in kept or len(kept) < _MOST_WORDS:
            kept[name] = value


def _numbers(record: Mapping[str, Any]) -> dict[str, float]:
    found = {name[:_LONGEST_WORD]: number(value) for name, value in record.items() if name not in _NO_NUMBERS}
    return {name: value for name, value in found.items() if value is not None and math.isfinite(value)}


def _no_numbers(record: Mapping[str, Any]) -> dict[str, str]:
    """What is said where a number is wanted: infinity, a text."""
    values = {name[:_LONGEST_WORD]: value for name, value in record.items() if name not in (*_NO_NUMBERS, "reason")}
    odd = {name: value for name, value in values.items() if value is not None and name not in _numbers(record)}
    return {
        name: f"The log states {json.dumps(value)[:_LONGEST_WORD]} as {name}, which is no number."
        for name, value in odd.items()
    }

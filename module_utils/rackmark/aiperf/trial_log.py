"""The epochs of a trial, from its `trial.log`. Before what a trial prints stands a time, on a 12-hour clock:

    [11/18/2026, 12:03:07 AM] PRINT Epoch 3/60
    [11/18/2026, 12:31:09 AM] PRINT 312/312 [====] - loss: 3.1 - val_loss: 3.2 - val_accuracy: 0.31

    [11/18/2026, 12:31:09 AM] PRINT [Device 5] Epoch 3/60, EvalAcc:0.31, EvalTime 41s

The first two are Keras'. Its progress bar breaks lines, so the time of an accuracy is the last one that stands before
it. The third is MindSpore's, one per device. A trial trains once, or several times with other hyperparameters; each
training ends with a line with HPO-<number>. Times have no zone; they become seconds as if of UTC, which leaves the
distances between them right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean
from typing import Iterator, Optional, Sequence, Tuple

from ..logs.log_file import LogFile
from .score import Epoch

_STAMP = re.compile(rb"\[(\d\d?)/(\d\d?)/(\d{4}), (\d\d?):(\d\d):(\d\d) ([AP]M)\] PRINT")
_NUMBER = rb"(\d{0,9}\.?\d{1,20}(?:[eE][+-]?\d{1,3})?|nan|inf)"
_KERAS_EPOCH = re.compile(rb"(?<!\] )Epoch (\d{1,5})/(\d{1,5})")
_KERAS_ACCURACY = re.compile(rb"(?<!\w)val_acc\w{0,16}: " + _NUMBER + rb"(?=[\s\[,])")
_DEVICE = re.compile(
    rb"\[Device (\d{1,4})\] Epoch (\d{1,5})/(\d{1,5}), (?:train time|EvalAcc:" + _NUMBER + rb", EvalTime \S{1,20}s)"
)
_HPO = re.compile(rb"HPO-(\d{1,4})(?!\d)")
_EVENTS = {b"Epoch ": _KERAS_EPOCH, b"val_acc": _KERAS_ACCURACY, b"[Device ": _DEVICE, b"HPO-": _HPO}
_MOST_PROBLEMS = 20
_MOST_EVENTS = 200_000  # sixty epochs on eight devices with thirty hyperparameters make 30,000

_NO_TIME = "has no time"
_Measured = Tuple[Optional[float], Optional[float]]  # accuracy, and when it was printed


@dataclass(frozen=True)
class TrialLog:
    """Epochs by the number of the training."""

    trainings: dict[int, Sequence[Epoch]]
    problems: Sequence[str]


def read_trial_log(path: Path) -> TrialLog:
    reading = _Reading()
    log = LogFile(path)
    for piece in log.pieces():
        for text in piece.values():
            reading.take(text)
    return TrialLog(reading.finish(), [*log.remarks, *reading.problems])


def stamp_seconds(text: str) -> float:
    """Of `11/18/2026, 00:03:07`; raises a ValueError for any other text."""
    return datetime.strptime(text, "%m/%d/%Y, %H:%M:%S").replace(tzinfo=timezone.utc).timestamp()


class _Reading:
    def __init__(self) -> None:
        self.problems: list[str] = []
        self._trainings: dict[int, Sequence[Epoch]] = {}
        self._training = _Training(0)
        self._clock: float | None = None
        self._events = 0

    def take(self, text: bytes) -> None:
        seen = 0
        for match in _matches(text):
            self._look_at_clock(text, seen, match.start())
            seen = match.start()
            self._events += 1
            if self._events <= _MOST_EVENTS:
                self._take_event(match)
        self._look_at_clock(text, seen, len(text))

    def finish(self) -> dict[int, Sequence[Epoch]]:
        if self._events > _MOST_EVENTS:
            self.problems.append(f"Only the first {_MOST_EVENTS} epochs and accuracies were read.")
        if self._training.begun:
            self._close(still_open=True)
        return self._trainings

    def _look_at_clock(self, text: bytes, begin: int, end: int) -> None:
        place = text.rfind(b"] PRINT", begin, end)
        if place >= 0:
            match = _STAMP.search(text, max(begin, place - 30), place + 7)
            self._clock = _seconds(match) if match else None

    def _take_event(self, match: re.Match[bytes]) -> None:
        training = self._training
        if match.re is _HPO:
            self._end_of_training(int(match[1]))
        elif match.re is _DEVICE:
            device, number, last = (int(match[group]) for group in (1, 2, 3))
            if self._is_possible(number, last):
                training.take_device(device, number, self._accuracy(match[4]), self._clock)
        elif match.re is _KERAS_EPOCH:
            number, last = int(match[1]), int(match[2])
            if number == 1 and training.has_keras_epochs:
                self._close()
            self._training.announce(number if self._is_possible(number, last) else None)
        elif training.announced is None:
            self._problem("An accuracy stands before any epoch.")
        else:
            training.take_keras(training.announced, self._accuracy(match[1]), self._clock)

    def _end_of_training(self, number: int) -> None:
        if number in self._trainings:
            self._problem(f"The line of HPO-{number} is there more than once.")
            return
        self._training.number = number
        self._close()

    def _close(self, still_open: bool = False) -> None:
        training = self._training
        epochs, problems = training.epochs(still_open)
        for problem in problems:
            self._problem(f"Training {training.number}: {problem}")
        self._trainings[training.number] = epochs
        self._training = _Training(training.number + 1)

    def _is_possible(self, number: int, last: int) -> bool:
        if not 1 <= number <= last:
            self._problem(f"There is no epoch {number} of {last}.")
        return 1 <= number <= last

    def _accuracy(self, text: bytes | None) -> float | None:
        if text is None:
            return None
        accuracy = float(text)
        if not 0 <= accuracy <= 1:
            self._problem(f"An accuracy is {text.decode()}: it has to be from 0 to 1.")
            return None
        return accuracy

    def _problem(self, sentence: str) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(sentence)
        elif len(self.problems) == _MOST_PROBLEMS:
            self.problems.append("There is more of that kind.")


class _Training:
    """What is known of one training. Of an epoch on several devices the accuracy is the mean, the end the latest."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.announced: int | None = None  # by Keras
        self._keras: dict[int, _Measured] = {}
        self._devices: dict[int, dict[int, _Measured]] = {}
        self._known_devices: set[int] = set()

    @property
    def begun(self) -> bool:
        return bool(self._keras or self._devices)

    @property
    def has_keras_epochs(self) -> bool:
        return any(accuracy is not None for accuracy, _ in self._keras.values())

    def announce(self, number: int | None) -> None:
        self.announced = number
        if number is not None:
            self._keras[number] = (None, None)

    def take_keras(self, number: int, accuracy: float | None, clock: float | None) -> None:
        self._keras[number] = (accuracy, clock)

    def take_device(self, device: int, number: int, accuracy: float | None, clock: float | None) -> None:
        self._known_devices.add(device)
        self._devices.setdefault(number, {})
        if accuracy is not None:
            self._devices[number][device] = (accuracy, clock)

    def epochs(self, still_open: bool) -> tuple[list[Epoch], list[str]]:
        """With sentences on those that cannot be used; that the last one of an open log has not ended needs none."""
        found: list[Epoch] = []
        problems = [] if self.begun else ["it has no epoch."]
        numbers = sorted({*self._keras, *self._devices})
        for number in numbers:
            lacking = self._lacking(number)
            goes_on = still_open and number == numbers[-1] and lacking != _NO_TIME
            if lacking and not goes_on:
                problems.append(f"epoch {number} {lacking}.")
            if not lacking:
                epoch = self._epoch(number)
                if found and epoch.ended < found[-1].ended:
                    problems.append(f"epoch {number} ended before epoch {found[-1].number}: the clock was set back.")
                found.append(epoch)
        return found, problems

    def _lacking(self, number: int) -> str | None:
        if number not in self._keras:
            missing = self._known_devices - set(self._devices[number])
            if missing:
                return f"has no accuracy of device {min(missing)}"
        measured = self._measured(number)
        if any(accuracy is None for accuracy, _ in measured):
            return "has no accuracy"
        return _NO_TIME if any(clock is None for _, clock in measured) else None

    def _measured(self, number: int) -> Sequence[_Measured]:
        return [self._keras[number]] if number in self._keras else list(self._devices[number].values())

    def _epoch(self, number: int) -> Epoch:
        measured = self._measured(number)
        ended = max(clock for _, clock in measured if clock is not None)
        return Epoch(number, ended, fmean(accuracy for accuracy, _ in measured if accuracy is not None))


def _matches(text: bytes) -> Iterator[re.Match[bytes]]:
    """In the order in which they stand; what stands inside another one is a part of it."""
    places = sorted((place, anchor) for anchor in _EVENTS for place in _places(text, anchor))
    end = 0
    for place, anchor in places:
        match = _EVENTS[anchor].match(text, place)
        if match and place >= end:
            end = match.end()
            yield match


def _places(text: bytes, anchor: bytes) -> Iterator[int]:
    place = text.find(anchor)
    while place >= 0:
        yield place
        place = text.find(anchor, place + 1)


def _seconds(stamp: re.Match[bytes]) -> float | None:
    month, day, year, hour, minute, second = (int(stamp[group]) for group in range(1, 7))
    if not 1 <= hour <= 12:
        return None
    hour = hour % 12 + (12 if stamp[7] == b"PM" else 0)
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None

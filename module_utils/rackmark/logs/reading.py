"""What is read from one log, and the piece of a dialect that reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, NamedTuple, Sequence

from .matching import Found
from .series import MOST_ROWS, Series, Window

_MOST_ROWS_OF_ALL = 4 * MOST_ROWS


class Fault(NamedTuple):
    """Why a log's numbers must not be used: one of the states of a repeat, and a sentence."""

    state: str
    reason: str


class ExtraTable(NamedTuple):
    """What a log says beyond one throughput, for the report."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Evaluation(NamedTuple):
    """How well the model did after `step` on samples that it was not trained on; `accuracy` is a fraction."""

    step: int
    seconds: float
    accuracy: float
    loss: float | None
    time: float


class Pause(NamedTuple):
    """An evaluation or a checkpoint: what the program did between its steps, and said so. `end` is when it was over."""

    seconds: float
    end: float


class Trial(NamedTuple):
    """One of many short trainings of a search, and the numbers that came out of it."""

    number: int
    is_good: bool
    values: Mapping[str, float]


class Ending(NamedTuple):
    """Of a training that may not have come to its end: `line` tells of a death after the last line of training, `done`
    of `planned` steps or epochs were logged, where the log says so and lacks some."""

    line: str | None
    done: int | None
    planned: int | None

    @property
    def progress(self) -> str | None:
        return None if self.planned is None else f"{self.done} of {self.planned}"


@dataclass
class Reading:
    """`series` by rank; None is the one rank of a log that names none, or all ranks together where they write alike.

    `facts` is what the log says of how it was made (see FACTS), `of_path` what its path does, `contradicted` what the
    log says otherwise than the path, `stated` what it says came out (see STATED, and any
    word that a program states by itself), `unstated` why a number that it names did not, `remarks` are sentences on
    what was left out or looks odd though the numbers are right, `progress` is how far a search said it is. `began` and
    `ended` are when the program said so; `by_steady_clock` says that these times and those of steps are of a clock that
    nobody sets, `steps_untimed` that lines of steps tell how long, and not when: what waits before the first of them is
    not known.
    """

    window: Window
    series: dict[int | None, Series] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    of_path: Mapping[str, Any] = field(default_factory=dict)
    contradicted: dict[str, Any] = field(default_factory=dict)
    stated: dict[str, float] = field(default_factory=dict)
    unstated: dict[str, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    tables: list[ExtraTable] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    pauses: list[Pause] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    progress: Mapping[str, float] = field(default_factory=dict)
    began: float | None = None
    ended: float | None = None
    by_steady_clock: bool = False
    steps_untimed: bool = False

    def of_rank(self, rank: int | None) -> Series:
        if rank not in self.series:
            self.series[rank] = Series(self.window)
        return self.series[rank]

    def keep_small(self) -> None:
        """All series together, however many ranks a log has."""
        if sum(map(len, self.series.values())) > _MOST_ROWS_OF_ALL:
            fair_share = _MOST_ROWS_OF_ALL // len(self.series) // 2
            for series in self.series.values():
                if len(series) > fair_share:
                    series.halve()


# `batch` is per device, `global_batch` of one step of all devices; `steps_per_epoch` of the job; `weights` is the sum
# of all weights in the end.
FACTS = (
    *("model", "framework", "precision", "batch", "global_batch", "world_size", "nodes", "devices_per_node"),
    *("steps_per_epoch", "rank", "host", "hardware", "unit", "repeat", "tree", "device", "resumed_from", "target"),
    *("weights", "time_to_train_scaling"),
)
# Throughputs are of all devices; `accuracy` is a fraction, `loss` the last one.
STATED = ("throughput", "whole", "no_eval", "accuracy", "loss", "time_to_train_s", "e2e_s", "energy_j")


class Fold:
    """Turns the lines of one log into a reading; `take` gets them piece by piece, in order."""

    def __init__(self, window: Window) -> None:
        self.reading = Reading(window)

    def take(self, found: Found, rank: int | None) -> None:
        """`rank` is what the launcher put before the lines, if anything."""
        raise NotImplementedError

    def finish(self) -> Reading:
        return self.reading

    def note(self, facts: Mapping[str, Any]) -> None:
        """The first word counts, and that of the path before it."""
        for name, value in facts.items():
            self.reading.facts.setdefault(name, value)
            if self.reading.of_path.get(name, value) != value:
                self.reading.contradicted.setdefault(name, value)

"""What several formats need before their lines can be read as steps (`step_lines`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable

import numpy as np

from .arrays import Array
from .kinds import Kind, kind
from .matching import Found, Table
from .reading import Reading
from .series import Rows, Series, Window
from .step_lines import StepLines
from .step_timing import Steps

# How Python's logging writes the time, for the clock of a fold that reworks it by `with_logged_time`.
LOGGED_AT = "{year:int}-{month:int}-{day:int} {hour:int}:{minute:int}:{second:int},{millisecond:int}"

Rework = Callable[[Found], Found]

# Marks a line without a loss among lines with one: nan means that the loss itself is not a number.
NOT_LOGGED = float(np.finfo(float).min)
_STEPS_APART = 1000  # ranks of one job are never as far from each other
_MOST_STEPS = 1e9  # in an epoch


class ReworkedSteps(StepLines):
    """`rework` makes the table of steps out of what was found; the samples that `steps` names are of each step."""

    def __init__(self, window: Window, steps: Steps, rework: Rework) -> None:
        super().__init__(window, steps)
        self.reading = _Reading(window)
        self._rework = rework

    def take(self, found: Found, rank: int | None) -> None:
        super().take(self._rework(found), rank)


class EveryRank(ReworkedSteps):
    """For scripts of which every rank logs every step; where no launcher says whose a line is, the first line of a
    step goes to rank 0, the next one of the same step to rank 1, and so on: as many are fast and slow as there were.
    """

    def __init__(self, window: Window, steps: Steps, rework: Rework) -> None:
        super().__init__(window, replace(steps, rank="rank"), rework)
        self._lines_of_step: dict[float, int] = {}

    def _take_steps(self, table: Table, rank: int | None) -> None:
        ranks = np.full(len(table), rank) if rank is not None else self._count_lines(_step_in_run(table))
        super()._take_steps(Table(table.at, {**table.fields, "rank": ranks}), rank)

    def _count_lines(self, steps: Array) -> Array:
        """How many lines of its step come before each line."""
        order = np.argsort(steps, kind="stable")
        step, first, lines = np.unique(steps[order], return_index=True, return_counts=True)
        known = np.array([self._lines_of_step.get(one, 0) for one in step.tolist()])
        before = np.empty(len(steps), np.int64)
        before[order] = np.arange(len(steps)) - np.repeat(first - known, lines)
        self._lines_of_step.update(zip(step.tolist(), (known + lines).tolist()))
        for one in sorted(self._lines_of_step)[:-_STEPS_APART]:
            del self._lines_of_step[one]
        return before


class _Reading(Reading):
    def of_rank(self, rank: int | None) -> Series:
        if rank not in self.series:
            self.series[rank] = _Series(self.window)
        return self.series[rank]


class _Series(Series):
    def add(self, more: Rows) -> None:
        loss = np.where(more.loss == NOT_LOGGED, np.nan, more.loss)
        with np.errstate(over="ignore", invalid="ignore"):
            samples = more.samples * more.steps
        super().add(replace(more, loss=loss, samples=samples))


def _step_in_run(table: Table) -> Array:
    step: Array = table.fields["step"]
    return step + table.fields["epoch"] * _MOST_STEPS if "epoch" in table.fields else step


def with_logged_time(found: Found) -> Found:
    """Adds the milliseconds, and the century to a year of two digits."""
    table = found.get("step")
    if table is None:
        return found
    second = table.fields["second"] + table.fields["millisecond"] / 1000
    year = table.fields["year"]
    time = {"second": second, "year": np.where(year < 100, year + 2000, year)}
    return {**found, "step": Table(table.at, {**table.fields, **time})}


def any_step(found: Found) -> Found:
    """Kinds named `step...` are spellings of the same line, of which a log has one."""
    spellings = [name for name in found if name.startswith("step")]
    if not spellings:
        return found
    return {**found, "step": max((found[name] for name in spellings), key=len)}


def with_rest_of_line(found: Found, needed: str) -> Found:
    """Kinds named `rest...` are what stands somewhere after the kind `step` on its line; `needed` has to be there."""
    steps = found.get("step")
    if steps is None:
        return found
    columns = dict(steps.fields)
    for name, table in found.items():
        if name.startswith("rest"):
            for field, values in table.fields.items():
                missing = NOT_LOGGED if field == "loss" else np.nan
                column = columns.setdefault(field, np.full(len(steps), missing))
                _put(column, np.searchsorted(steps.at, table.at, "right") - 1, values)
    kept = np.flatnonzero(~np.isnan(columns.get(needed, np.full(len(steps), np.nan))))
    others = {name: table for name, table in found.items() if name != "step"}
    if not len(kept):
        return others
    return {**others, "step": Table(steps.at[kept], {name: column[kept] for name, column in columns.items()})}


def _put(column: Array, line: Array, values: Array) -> None:
    """The first on each line counts."""
    line, values = line[::-1], values[::-1]
    column[line[line >= 0]] = values[line >= 0]


def setting(name: str, fact: str) -> Kind:
    """A line like `num_nodes = 2`, as training scripts print their settings."""
    return kind(f"fact_{name}", f"{name} = {{{fact}}}", head=f"{name} = ")

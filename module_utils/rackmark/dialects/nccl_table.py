"""One table of nccl-tests: what its rows say, and whether they agree with each other and with its end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np

from ..logs.arrays import Array
from ..logs.reading import ExtraTable, Fault, Reading

# Bus bandwidth by algorithm bandwidth, for a number of ranks.
BANDWIDTH_FACTORS: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "alltoall": lambda ranks: (ranks - 1) / ranks,
    "gather": lambda ranks: (ranks - 1) / ranks,
    "scatter": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1,
    "reduce": lambda ranks: 1,
    "sendrecv": lambda ranks: 1,
    "hypercube": lambda ranks: 1,
}
_RESULT = ("time", "algbw", "busbw", "#wrong")
COLUMNS = ["redop", "root", *_RESULT, *_RESULT]
_MOST_ROWS_SHOWN = 1000
_HEADINGS = (
    *("size (B)", "count", "type", "time (us)", "algbw (GB/s)", "busbw (GB/s)", "wrong"),
    *("in place: time (us)", "algbw (GB/s)", "busbw (GB/s)", "wrong"),
)
_NEARLY = 1 + 1e-9


class Results(NamedTuple):
    """Out of place or in place, of all sizes; `wrong` is nan where the values were not checked."""

    time: Array
    algbw: Array
    busbw: Array
    wrong: Array


class Rows(NamedTuple):
    """Rows of one data type; `at` is where in the log."""

    at: Array
    size: Array
    count: Array
    data_type: str
    results: Sequence[Results]


class Bound(NamedTuple):
    factor: float
    where: str


@dataclass
class NcclTable:
    """`columns` is what the header names after the type; where it names no results they are those of newer versions.

    Each row allows a range of factors between both bandwidths; `lowest` and `highest` are what all rows allow.
    """

    name: str | None
    columns: list[str]
    count: int = 0
    total: float = 0.0
    slack: float = 0.0
    unread: int = 0
    unchecked: int = 0
    largest: int = 0
    wrong: str | None = None
    average: float | None = None
    lowest: Bound = field(default_factory=lambda: Bound(-math.inf, ""))
    highest: Bound = field(default_factory=lambda: Bound(math.inf, ""))
    _shown: list[tuple[int, Sequence[Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.columns = ["time" if column == "cputime" else column for column in self.columns]
        if not self._result_columns():
            self.columns = COLUMNS

    @property
    def is_empty(self) -> bool:
        return not self.count and not self.unread and self.average is None

    def take_end(self, kind: str, row: Mapping[str, Any]) -> None:
        if kind == "bounds" and row["wrong"]:
            self.wrong = self.wrong or f"The test found {row['wrong']:.0f} values out of bounds."
        elif kind.startswith("average"):
            self.average = row["average"]
            if kind == "average_too_low":
                self.wrong = self.wrong or "The average bus bandwidth is below what the test was told to reach."

    def take_cells(self, at: int, data_type: str, row: Mapping[str, Any]) -> None:
        """A row of any columns."""
        cells = row["columns"].decode(errors="replace").split()
        blank = self._blank_cells(cells)
        read = [self._result(cells, begin - blank) for begin in self._result_columns()]
        results = [one for one in read if one is not None]
        if len(cells) + blank < len(self.columns) or len(results) < len(read):
            self.unread += 1
            return
        self.take(Rows(np.array([at]), np.array([row["size"]]), np.array([row["count"]]), data_type, results))

    def take(self, rows: Rows) -> None:
        good = np.all([np.isfinite(column) for one in rows.results for column in one[:3]], axis=0)
        self.unread += int((~good).sum())
        if not good.any():
            return
        size = rows.size[good]
        self.largest = max(self.largest, int(size.max()))
        results = [Results(*(column[good] for column in one)) for one in rows.results]
        for one in results:
            self._add(one, size, rows.data_type)
        self._show(Rows(rows.at[good], size, rows.count[good], rows.data_type, results))

    def _add(self, one: Results, size: Array, data_type: str) -> None:
        def where(row: int) -> str:
            return f"{size[row]:.0f} bytes of {data_type}"

        bus_slack, alg_slack = _half_digit(one.busbw), _half_digit(one.algbw)
        self.count += len(size)
        self.total += float(one.busbw.sum())
        self.slack += float(bus_slack.sum())
        self.unchecked += int(np.isnan(one.wrong).sum())
        if (one.wrong > 0).any():
            row = int(np.argmax(one.wrong > 0))
            self.wrong = self.wrong or f"The test found {one.wrong[row]:g} wrong values at {where(row)}."
        low = (one.busbw - bus_slack) / (one.algbw + alg_slack)
        at_least = np.maximum(one.algbw - alg_slack, 0)
        with np.errstate(divide="ignore"):
            high = (one.busbw + bus_slack) / at_least
        self.lowest = max(self.lowest, Bound(float(low.max()), where(int(low.argmax()))))
        self.highest = min(self.highest, Bound(float(high.min()), where(int(high.argmin()))))

    def _show(self, rows: Rows) -> None:
        for row in range(min(len(rows.at), _MOST_ROWS_SHOWN - len(self._shown))):
            cells = [int(rows.size[row]), int(rows.count[row]), rows.data_type]
            for one in rows.results:
                cells += [None if np.isnan(column[row]) else float(column[row]) for column in one]
            self._shown.append((int(rows.at[row]), cells + [None] * (len(_HEADINGS) - len(cells))))

    def judge(self, reading: Reading, ranks: int | None) -> None:
        end = self._end()
        faults = (end, self.wrong and Fault("rule_failed", self.wrong), self._contradiction(ranks))
        reading.faults += [fault for fault in faults if fault]
        if self.unchecked:
            reading.remarks.append(f"{self.unchecked} of {self.count} results were not checked: their #wrong is N/A.")
        if self.count:
            reading.stated["throughput"] = self.total / self.count
        title = f"nccl-tests {self.name or ''}".strip() + (f", {ranks} ranks" if ranks else "")
        rows = [cells for _, cells in sorted(self._shown, key=lambda row: row[0])]
        reading.tables.append(ExtraTable(title, _HEADINGS, rows))

    def _end(self) -> Fault | None:
        if self.average is None:
            return Fault("incomplete", f"The table ends after {self.largest} bytes, before its average.")
        if self.unread:
            return Fault("incomplete", f"Rows of the table that are cut off or garbled: {self.unread}.")
        mean = self.total / self.count if self.count else math.nan
        if abs(mean - self.average) <= self.slack / max(self.count, 1) + 5e-6 * abs(self.average):
            return None
        reason = f"The log states {self.average:g} GB/s on average, but its rows make {mean:.4f}: some are missing."
        return Fault("incomplete", reason)

    def _contradiction(self, ranks: int | None) -> Fault | None:
        if self.lowest.factor > self.highest.factor * _NEARLY:
            reason = f"The bus bandwidths at {self.lowest.where} and {self.highest.where} contradict each other."
            return Fault("rule_failed", reason)
        if self.name is None or not ranks:
            return None
        factor = BANDWIDTH_FACTORS[self.name](ranks)
        if self.lowest.factor <= factor * _NEARLY and factor <= self.highest.factor * _NEARLY:
            return None
        where = self.highest.where if factor > self.highest.factor else self.lowest.where
        reason = f"The bus bandwidth at {where} is not that of {self.name} over {ranks} ranks, which the log lists."
        return Fault("wrong_world_size", reason)

    def _result_columns(self) -> Sequence[int]:
        """Where the results begin, out of place and in place."""
        return [at for at in range(len(self.columns) - 3) if tuple(self.columns[at : at + 3]) == _RESULT[:3]]

    def _blank_cells(self, cells: Sequence[str]) -> int:
        """Of an operation without a reduction the cell of that is blank, and the one of the root may be too."""
        before, lacking = self._result_columns()[0], len(self.columns) - len(cells)
        if not 0 < lacking <= before:
            return 0
        return lacking if all(cell.lstrip("-").isdigit() for cell in cells[: before - lacking]) else 0

    def likely_names(self, ranks: int | None) -> Sequence[str]:
        """Of tests whose bandwidths these could be."""
        if not ranks or not self.count:
            return []
        factors = {name: factor(ranks) for name, factor in BANDWIDTH_FACTORS.items()}
        return [
            name
            for name, one in factors.items()
            if self.lowest.factor <= one * _NEARLY and one <= self.highest.factor * _NEARLY
        ]

    def _result(self, cells: Sequence[str], begin: int) -> Results | None:
        try:
            numbers = [float("nan" if cell == "N/A" else cell) for cell in cells[begin : begin + 4]]
        except ValueError:
            return None
        if len(numbers) == 4 and self.columns[begin + 3] != "#wrong" and not math.isnan(numbers[3]):
            numbers[3] = 0  # older versions say how far the values are off, and a little is no fault
        return Results(*np.array(numbers)[:, None]) if len(numbers) == 4 else None


def _half_digit(bandwidth: Array) -> Array:
    """How far the number may be from the one it was rounded from: less than 1000 has two decimals."""
    return np.where(bandwidth < 1000, 0.005, np.where(bandwidth < 10000, 0.05, 0.5))

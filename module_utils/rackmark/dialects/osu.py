"""OSU micro-benchmarks of MPI: a table of message sizes, each with a bandwidth or a latency.

    # OSU MPI Bandwidth Test v7.5                   # OSU MPI Allreduce Latency Test v7.5
    # Size      Bandwidth (MB/s)                    # Size       Avg Latency(us)
    1                       2.10                    4                      10.05
    268435456           12254.16                    8                      10.84

A bandwidth counts where it is highest, in GB/s. A latency has no throughput: it counts at the smallest message, and at
the largest. Which processes took part a log does not say, nor where its table ends: the report shows the sizes.
"""

from __future__ import annotations

from typing import Any, Mapping

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.matching import Found, in_order
from ..logs.reading import ExtraTable, Fault, Fold, Reading
from ..logs.series import Window
from ..run.measures import Measure

_BANDWIDTHS = ("Bandwidth (MB/s)", "MB/s")
_LATENCIES = ("Latency (us)", "Avg Latency(us)")
_MOST_ROWS = 1000
_MB_PER_GB = 1000


class _Osu(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._tests: list[str] = []
        self._column = ""
        self._rows: list[tuple[int, float]] = []

    def take(self, found: Found, rank: int | None) -> None:
        for name, row in in_order(found):
            if name == "test":
                self._begin(row["name"].decode(errors="replace").strip())
            elif name == "rest header":
                self._column = row["columns"].decode(errors="replace").strip()
            elif self._tests:
                self._take_row(row)

    def finish(self) -> Reading:
        reading = self.reading
        if len(self._tests) > 1:
            reason = f"The log holds {len(self._tests)} tests ({', '.join(self._tests[:4])}): a log of each is needed."
            reading.faults.append(Fault("incomplete", reason))
        elif not self._rows:
            reading.faults.append(Fault("no_data", "The log holds no row of a table of message sizes."))
        elif self._column.startswith(_BANDWIDTHS):
            reading.stated["throughput"] = max(value for _, value in self._rows) / _MB_PER_GB
        elif self._column.startswith(_LATENCIES):
            reading.unstated["throughput"] = "The test measured latencies."
            reading.stated["latency"] = min(self._rows)[1]
            reading.stated["latency_of_largest"] = max(self._rows)[1]
        else:
            reading.faults.append(Fault("no_data", f"The table's column {self._column!r} is not known."))
        if self._rows:
            title = f"OSU {', '.join(self._tests)}"
            reading.tables.append(ExtraTable(title, ("size (B)", self._column), self._rows[:_MOST_ROWS]))
        return reading

    def _begin(self, name: str) -> None:
        test = name.rpartition(" v")[0] or name
        self._tests.append(test)
        self.note({"model": test})

    def _take_row(self, row: Mapping[str, Any]) -> None:
        self._rows.append((int(row["size"]), float(row["value"])))


def _latency(name: str, where: str) -> Measure:
    return Measure(name, "us", "lower", f"stated.{name}", means=f"The latency of the {where} message.")


DIALECTS = (
    Dialect(
        name="osu",
        title="OSU micro-benchmarks",
        kinds=(
            kind("test", "# OSU MPI{name:rest}"),
            kind("rest header", "# Size{_}{columns:rest}"),
            kind("rest row", "\n{size:int}{_}{value:float}"),
        ),
        fold=_Osu,
        prefers_stated=True,
        measures_alone=True,
        unit="GB/s",
        warmup=0,
        measures=(_latency("latency", "smallest"), _latency("latency_of_largest", "largest")),
    ),
)

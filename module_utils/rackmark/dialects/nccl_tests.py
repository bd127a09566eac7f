"""NVIDIA's nccl-tests and AMD's rccl-tests, which print the same: a table of message sizes, each out of place and in
place, and the average bus bandwidth.

    # Collective test starting: all_reduce_perf
    #  Rank  0 Group  0 Pid  12345 on     node-1 device  0 [0000:07:00] NVIDIA A100-SXM4-80GB
    #       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   ...
         1048576        262144     float     sum      -1    45.93   22.83   39.95       0    45.26   23.17   ...
    # Out of bounds values : 0 OK
    # Avg bus bandwidth    : 40.2471

The throughput is the mean of all bus bandwidths in the table. It has to be what the log states, and every bus
bandwidth what follows from its algorithm bandwidth and the number of ranks, as far as their printed digits tell.
Tables without the name of their test, as older versions print them, go without the second check: by the ranks and both
bandwidths they are called what they can be, so that no two kinds of them are taken for repeats. Of a test that reduces
nothing older versions leave the cells of redop and root blank.
"""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from ..logs.arrays import Array
from ..logs.dialect import Dialect
from ..logs.kinds import Kind, kind
from ..logs.matching import Found, Table, in_order
from ..logs.reading import Fault, Fold, Reading
from ..logs.series import Window
from .nccl_table import BANDWIDTH_FACTORS, COLUMNS, NcclTable, Results, Rows

_TYPES = (
    *("float", "half", "bfloat16", "double", "int8", "uint8", "int32", "uint32", "int64", "uint64"),
    *("f8e4m3", "f8e5m2", "char", "int"),
)
_USUAL_TYPES = _TYPES[:3]
_MOST_TABLES = 100  # more than one are not used anyway
_RESULTS = "".join(
    f"{{_}}{{{place}time:float}}{{_}}{{{place}algbw:float}}{{_}}{{{place}busbw:float}}{{_}}{{{place}wrong:int}}"
    for place in ("", "in_")
)


class _NcclTests(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._tables: list[NcclTable] = []
        self._named: str | None = None
        self._ranks: dict[int, tuple[int, str]] = {}

    def take(self, found: Found, rank: int | None) -> None:
        usual = {name: table for name, table in found.items() if name.startswith("rows ")}
        if usual and not self._tables:
            self._begin_table([])
        tables = self._tables[-1:]
        for name, row in in_order({name: _with_place(table) for name, table in found.items() if name not in usual}):
            self._take_line(name, row)
            if name == "header":
                tables.append(self._tables[-1])
        headers = found["header"].at if "header" in found else np.empty(0)
        for name, table in usual.items():
            of_table = np.searchsorted(headers, table.at, "right")
            for number in np.unique(of_table).tolist():
                _take_usual(tables[number - len(headers) - 1], name.split()[1], table, of_table == number)

    def _take_line(self, name: str, row: Mapping[str, Any]) -> None:
        if name.startswith("fact "):
            self._take_name(name.split()[-1])
        elif name.startswith("device"):
            host = row["host"].decode(errors="replace")
            self._ranks.setdefault(int(row["rank"]), (int(row.get("group", 0)), host))
        elif name == "header":
            self._begin_table(row["columns"].decode(errors="replace").split())
        else:
            if not self._tables:
                self._begin_table([])
            if name.startswith("row "):
                self._tables[-1].take_cells(int(row["at"]), name.split()[1], row)
            else:
                self._tables[-1].take_end(name, row)

    def finish(self) -> Reading:
        self._note_job()
        tables = [table for table in self._tables if not table.is_empty]
        if not tables:
            self.reading.faults.append(Fault("no_data", "The log holds no row of a table of bandwidths."))
        elif len(tables) > 1:
            names = ", ".join(table.name or "one without a name" for table in tables)
            reason = f"The log holds {len(tables)} tests ({names}), and it is not said which one counts."
            self.reading.faults.append(Fault("incomplete", reason))
        for table in tables:
            table.judge(self.reading, self._ranks_of_first_group())
        if len(tables) == 1 and self._named is None:
            likely = tables[0].likely_names(self._ranks_of_first_group())
            self.note({"model": " or ".join(likely)} if 0 < len(likely) < len(BANDWIDTH_FACTORS) else {})
        return self.reading

    def _begin_table(self, columns: list[str]) -> None:
        if len(self._tables) < _MOST_TABLES:
            self._tables.append(NcclTable(self._named, columns))

    def _take_name(self, name: str) -> None:
        """The name may come with the command line, and again when the test begins and ends."""
        self._named = name
        if self._tables and self._tables[-1].name is None:
            self._tables[-1].name = name

    def _note_job(self) -> None:
        if self._named:
            self.note({"model": self._named})
        if self._ranks and set(self._ranks) == set(range(len(self._ranks))):
            hosts = [host for _, host in self._ranks.values()]
            self.note({"world_size": len(hosts), "nodes": len(set(hosts))})
            if len({hosts.count(host) for host in hosts}) == 1:
                self.note({"devices_per_node": hosts.count(hosts[0])})

    def _ranks_of_first_group(self) -> int | None:
        """As many as the printed bandwidths are of; None where the list of devices has gaps."""
        if not self._ranks or set(self._ranks) != set(range(len(self._ranks))):
            return None
        groups = [group for group, _ in self._ranks.values()]
        return groups.count(self._ranks[0][0])


def _with_place(table: Table) -> Table:
    return Table(table.at, {**table.fields, "at": table.at})


def _take_usual(table: NcclTable, data_type: str, rows: Table, chosen: Array) -> None:
    fields = {name: values[chosen] for name, values in rows.fields.items()}
    if table.columns != COLUMNS:
        table.unread += int(chosen.sum())
        return
    names = ("time", "algbw", "busbw", "wrong")
    results = [Results(*(fields[f"{place}{name}"] for name in names)) for place in ("", "in_")]
    table.take(Rows(rows.at[chosen], fields["size"], fields["count"], data_type, results))


def _row(name: str, columns: str) -> Kind:
    return kind(name, columns, head="{_}{size:int}{_}{count:int}{_}")


DIALECTS = (
    Dialect(
        name="nccl-tests",
        title="nccl-tests and rccl-tests",
        kinds=(
            kind("header", "#{_}size{_}count{_}type{columns:rest}"),
            *(
                _row(f"rows {name} {operation} {root}", f" {name}{{_}}{operation}{{_}}{root}{_RESULTS}\n")
                for name in _USUAL_TYPES
                for operation in ("sum", "none")
                for root in ("-1", "{root:int}")
            ),
            *(_row(f"row {name}", f" {name}{{_}}{{columns:rest}}") for name in _TYPES),
            kind(
                "device",
                "#{_}Rank{_}{rank:int} Group{_}{group:int} Pid{_}{pid:int} on{_}{host:word} device{_}{device:int} [",
            ),
            kind("device_alone", "#{_}Rank{_}{rank:int} Pid{_}{pid:int} on{_}{host:word} device{_}{device:int} ["),
            kind("bounds", "# Out of bounds values : {wrong:int} "),
            kind("average_too_low", "# Avg bus bandwidth    : {average:float} FAILED"),
            kind("average", "# Avg bus bandwidth    : {average:float}"),
            *(kind(f"fact name {name}", f" {name}_perf") for name in BANDWIDTH_FACTORS),
            *(kind(f"fact path {name}", f"/{name}_perf") for name in BANDWIDTH_FACTORS),
        ),
        fold=_NcclTests,
        unit="GB/s",
        warmup=0,
    ),
)

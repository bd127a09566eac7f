"""ais-bench (training on Ascend): what it reports at the end, and what the training prints on every rank.

    url:s3:/out/V1/ranksize.json read ranksize:16
    rankid:0 url:s3:/out/V1/throughput_0.json read throughput:885.1
    report result total_throughput : 14161.6
    report result accuracy:0.77

is the report of a cluster: its throughput is the sum of the ranks'. In single-server mode every server trains for
itself, on 8 devices, and the throughput is that of one server, the mean of all:

    report >> throughput_list:[450.78, 450.39] average:450.58

The stub repeats both as `train_result_info`, in which numbers are texts, and what was not set is 0 or a date that is
always the same. Folders of result files without any log are read by `ais_bench_files.py`.
"""

from __future__ import annotations

import re
import statistics
from datetime import datetime
from typing import Sequence

from ..logs.dialect import Dialect
from ..logs.json_records import positive
from ..logs.kinds import kind
from ..logs.matching import Found, in_order
from ..logs.reading import ExtraTable, Fault, Fold, Reading
from ..logs.series import Window
from .ais_bench_files import CARDS_PER_SERVER, number_in, read_rank_files
from .ais_bench_ranks import RankPrints

__all__ = ["DIALECTS", "read_rank_files"]

_SAME = 1e-9
_MOST_RANKS = 100_000
_SHOWN = 8
_NOT_SET = "2020-01-30 14:16:00"
_TIMES = ("total_start_time", "total_end_time")
_MEASURED = ("average_power", "max_power", "energy_consumption", "resource_util_ratio")
_PACKAGE = re.compile(rb"train_(?P<framework>mindspore|tensorflow)_(?P<model>\w{1,80})-Ais-Benchmark-Stubs")
_VALUE = re.compile(rb'\s{0,8}:\s{0,8}(?:"([^"]{0,100})"|([^\s"{}\[\],]{1,40})\s{0,8}[,}])')
_LIST = re.compile(rb"([^\[\]]{1,3900})\]")


class Report(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._size: int | None = None
        self._servers: int | None = None
        self._cards = CARDS_PER_SERVER
        self._rank: int | None = None
        self._rates: dict[int, float] = {}
        self._said: dict[str, list[Sequence[float]]] = {}
        self._info: dict[str, str] | None = None

    def take(self, found: Found, rank: int | None) -> None:
        for name, row in in_order(found):
            if name == "ranksize":
                self._size = int(row["value"])
            elif name == "servers":
                self._servers, self._cards = int(row["servers"]), int(row["cards"])
            elif name == "rank":
                self._rank = int(row["rank"])
            elif name == "rate" and self._rank is not None and len(self._rates) < _MOST_RANKS:
                self._rates[self._rank] = row["value"]
            elif name in ("throughputs", "accuracies"):
                self._say(name, _listed(row["values"]))
            elif name in ("total", "accuracy"):
                self._say(name, (row["value"],))
            elif name == "fact_workpath":
                self._take_package(row["path"])
            elif name == "info":
                self._info = {}
            elif name.startswith("fact_") and self._info is not None:
                self._take_info(name[len("fact_") :], row["value"])

    def _take_package(self, path: bytes) -> None:
        package = _PACKAGE.search(path)
        if package is not None:
            self.note({name: word.decode(errors="replace") for name, word in package.groupdict().items()})

    def _say(self, name: str, values: Sequence[float]) -> None:
        if values:
            said = self._said.setdefault(name, [])
            if values not in said and len(said) < 2:
                said.append(values)

    def _take_info(self, name: str, text: bytes) -> None:
        match = _VALUE.match(text)
        if match is None or self._info is None:
            return
        value = (match[2] if match[1] is None else match[1]).decode(errors="replace")
        rate = number_in(value)
        if value == _NOT_SET or rate == 0:
            return
        self._info[name] = value
        if name == "throughput_ratio" and rate is not None:
            self._say(name, (rate,))

    def finish(self) -> Reading:
        reading = self.reading
        if any(len(said) > 1 for said in self._said.values()):
            reading.faults.append(Fault("incomplete", "The log holds the results of more than one training."))
        elif self._servers is not None or "throughputs" in self._said:
            self._take_servers()
        elif self._rates or self._size is not None:
            self._take_cluster()
        elif "total" in self._said:
            self._state_rate(self._first("total"))
            reading.remarks.append("The log does not list the ranks, so none can be said to be missing.")
        self._take_result_info()
        if "throughput" not in reading.stated and not reading.faults:
            reading.faults.append(Fault("incomplete", "The log has no result: the benchmark did not come to its end."))
        return reading

    def _first(self, name: str) -> float | None:
        """0 is what ais-bench writes where it has nothing."""
        said = self._said.get(name)
        return positive(said[0][0]) if said else None

    def _state_rate(self, rate: float | None) -> None:
        if rate is not None:
            self.reading.stated["throughput"] = rate

    def _state_accuracy(self, accuracy: float | None) -> None:
        if accuracy is not None and accuracy <= 1:
            self.reading.stated["accuracy"] = accuracy

    def _take_servers(self) -> None:
        self.note({"nodes": 1, "devices_per_node": self._cards})
        rates, accuracies = (self._said.get(name, [()])[0] for name in ("throughputs", "accuracies"))
        servers = self._servers if self._servers is not None else len(rates)
        if not rates:
            return
        if len(rates) != servers or min(rates) <= 0:
            good = sum(rate > 0 for rate in rates)
            reason = f"There were {servers} servers, the log has the throughput of {good}."
            self.reading.faults.append(Fault("no_log", reason))
            return
        self._state_rate(statistics.mean(rates))
        if len(accuracies) == servers and min(accuracies) > 0:
            self._state_accuracy(statistics.mean(accuracies))

    def _take_cluster(self) -> None:
        fault = self._missing_rank()
        if fault is not None:
            self.reading.faults.append(fault)
            return
        self.note({"world_size": self._size})
        total, stated = sum(self._rates[rank] for rank in sorted(self._rates)), self._first("total")
        if stated is not None and abs(stated / total - 1) > _SAME:
            reason = f"The log states a total of {stated:.7g}, its ranks add up to {total:.7g}."
            self.reading.faults.append(Fault("no_data", reason))
            return
        self._state_rate(total if stated is None else stated)
        self._state_accuracy(self._first("accuracy"))

    def _missing_rank(self) -> Fault | None:
        if self._size is None:
            return Fault("no_log", "The log does not say how many ranks there were, so some may be missing.")
        missing = [str(rank) for rank in range(min(self._size, _MOST_RANKS)) if positive(self._rates.get(rank)) is None]
        if missing:
            which = ", ".join(missing[:_SHOWN])
            return Fault("no_log", f"There were {self._size} ranks, the log has no throughput of rank {which}.")
        if len(self._rates) > self._size:
            reason = f"There were {self._size} ranks, the log has the throughput of {len(self._rates)}."
            return Fault("wrong_world_size", reason)
        return None

    def _take_result_info(self) -> None:
        info, stated = self._info or {}, self.reading.stated
        rate = self._first("throughput_ratio")
        if rate is not None and abs(stated.get("throughput", rate) / rate - 1) > _SAME:
            reason = f"The log reports {stated['throughput']:.7g}, but train_result_info says {rate:.7g}."
            self.reading.faults.append(Fault("no_data", reason))
        elif not self.reading.faults:
            self._state_rate(stated.get("throughput", rate))
            self._state_accuracy(stated.get("accuracy", number_in(info.get("accuracy", ""))))
        begin, end = (_time(info.get(name)) for name in _TIMES)
        if begin is not None and end is not None and end > begin:
            stated["e2e_s"] = (end - begin).total_seconds()
        measured = [(name, info[name]) for name in _MEASURED if name in info]
        if measured:
            self.reading.tables.append(ExtraTable("Measured by ais-bench", ("What", "Value"), measured))


def _listed(text: bytes) -> Sequence[float]:
    """Nothing where the list is cut off or holds something else."""
    match = _LIST.match(text)
    values = [number_in(part) for part in match[1].decode(errors="replace").split(",")] if match else []
    return tuple(value for value in values if value is not None) if None not in values else ()


def _time(text: str | None) -> datetime | None:
    try:
        return datetime.strptime(text or "", "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None


DIALECTS = (
    Dialect(
        name="ais-bench",
        title="ais-bench (report)",
        kinds=(
            kind("ranksize", " read ranksize:{value:int}"),
            kind("rank", "rankid:{rank:int} url:"),
            kind("rate", " read throughput:{value:float}"),
            kind("total", "report result total_throughput : {value:float}"),
            kind("accuracy", "report result accuracy:{value:float}"),
            kind("servers", "server_count:{servers:int} cards_per_server:{cards:int}"),
            kind("throughputs", "report >> throughput_list:[{values:rest}"),
            kind("accuracies", "report >> accuracy_list:[{values:rest}"),
            kind("fact_workpath", "workpath:{path:rest}"),
            kind("info", "train_result_info: {begin:rest}"),
            kind("stub", " -Ais-Bench-Stubs- {level:word}"),
            *(kind(f"fact_{name}", f'"{name}"{{value:rest}}') for name in ("throughput_ratio", "accuracy")),
            *(kind(f"fact_{name}", f'"{name}"{{value:rest}}') for name in (*_TIMES, *_MEASURED)),
        ),
        fold=Report,
        prefers_stated=True,
        warmup=0,
        layer=1,
    ),
    Dialect(
        name="ais-bench-ranks",
        title="ais-bench (what the training prints on every rank)",
        kinds=(
            kind(
                "epochs",
                "train done starttime:{start:float} real:{real:float} endtime:{end:float}"
                " alldatasum:{samples:float} skipcount:{skipped:float} skiptime:{skipped_seconds:float}",
            ),
            kind(
                "sinks",
                "train done starttime:{start:float} real:{real:float} endtime:{end:float} train_step:{steps:int}"
                " skiptime:{skipped_seconds:float} ds getdataset:{size:int} new_repeat_count:{sinks:int}"
                " data_sum:{samples:float} throughput_rate:{rate:float}",
            ),
            kind("epoch", "data_size:{steps:int} batch_size:{batch:int} datasum:{samples:int}"),
        ),
        fold=RankPrints,
        of_all_ranks=False,
        warmup=0,
        layer=1,
    ),
)

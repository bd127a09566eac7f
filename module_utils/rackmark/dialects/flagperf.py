"""FlagPerf: records that its driver writes between the output of the training, one file per rank.

    [PerfLog] {"event": "STEP_END", "value": {"loss": 2.68, "global_steps": 3397, "num_trained_samples": 869632, ...},
               "metadata": {"file": ..., "lineno": 127, "time_ms": 1669034171032, "rank": 0}}

Every rank logs its steps, which count the samples of all; the rank in a record is that within its node. Only the first
rank of all writes FINISHED, with the result: see `flagperf_result`. Language models print their result as text instead.
"""

from __future__ import annotations

import math
import re
from pathlib import PurePath
from typing import Any, Mapping

import numpy as np

from ..run.cases import CaseRequest
from .arrays import Array
from .dialect import Dialect
from .flagperf_result import Result, finished, language_model
from .json_records import first_record, loss, mapping, number
from .matching import Found, in_order, kind
from .reading import Fault, Fold, Reading
from .series import Series, Window, rows

_MOST_RANKS = 4096
_PASSED_OVER = b'{"event": "STEP_BEGIN"'
_NODE = re.compile(r"(?P<host>.{1,200})_noderank(?P<node>\d{1,5})")
_ROUND = re.compile(r"round(\d{1,6})")
_RANK_FILE = re.compile(r"rank(\d{1,6})\.(?:out\.log|log\.txt)")
_NODE_FILE = re.compile(r"noderank\d{1,5}\.out\.log")
_OLD_CASE = re.compile(
    r"(?P<model>.{1,80}?)_(?P<framework>TORCH|PADDLE|TF2?|TENSORFLOW2?|MINDSPORE)_(?:.{1,80}_)?"
    r"(?P<hardware>[^_]{1,80})_(?P<nodes>[1-9]\d{0,4})X(?P<devices>[1-9]\d{0,4})"
)
_BENCHMARK = re.compile(r"/benchmarks/(?P<model>[^/]{1,80})/(?P<framework>[^/_]{1,80})[^/]{0,80}/")
_FRAMEWORKS = {"TORCH": "pytorch", "TF": "tensorflow2", "TF2": "tensorflow2"}


class PerfLog(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._ranks: dict[int | None, _Steps] = {}
        self._local_ranks: set[int | None] = set()
        self._finished: list[Mapping[str, Any]] = []
        self._language_model: dict[str, float] = {}
        self._torn = 0

    def take(self, found: Found, rank: int | None) -> None:
        if "record" in found:
            for text in found["record"].fields["json"]:
                self._take_text(text, rank)
            for steps in self._ranks.values():
                steps.settle()
        for name, row in in_order({name: table for name, table in found.items() if name != "record"}):
            if name == "tokens":
                self._language_model = {}
            self._language_model[name] = row["value"]

    def _take_text(self, text: bytes, launched_rank: int | None) -> None:
        if text.startswith(_PASSED_OVER):
            return
        record = first_record(text)
        if record is None:
            self._torn += 1
            return
        metadata, value = mapping(record.get("metadata")), mapping(record.get("value"))
        found = number(metadata.get("rank"))
        local = None if found is None else int(found)
        if local not in self._local_ranks:
            self._take_process(local, metadata)
        if record.get("event") == "STEP_END":
            self._steps_of(local if launched_rank is None else launched_rank).take(value, metadata)
        elif record.get("event") == "FINISHED" and len(self._finished) < 2:
            self._finished.append(value)

    def _take_process(self, local_rank: int | None, metadata: Mapping[str, Any]) -> None:
        """A record of a process that has not been heard of; its file is that of the benchmark."""
        if len(self._local_ranks) < _MOST_RANKS:
            self._local_ranks.add(local_rank)
        benchmark = _BENCHMARK.search(str(metadata.get("file")))
        if benchmark is not None:
            self.note(benchmark.groupdict())

    def _steps_of(self, rank: int | None) -> _Steps:
        steps = self._ranks.get(rank)
        if steps is not None:
            return steps
        if len(self._ranks) == _MOST_RANKS:
            return next(iter(self._ranks.values()))
        self._ranks[rank] = _Steps(self.reading.window)
        return self._ranks[rank]

    def finish(self) -> Reading:
        reading = self.reading
        if self._torn:
            reading.remarks.append(f"Records that are torn or damaged, and left out: {self._torn}.")
        for rank, steps in self._ranks.items():
            reading.series[None if len(self._ranks) == 1 else rank] = steps.series
            reading.faults += steps.faults
            reading.remarks += steps.remarks
        result = self._result()
        if result.unit is not None:
            self.note({"unit": result.unit})
        reading.stated.update(result.stated)
        reading.faults += result.faults
        reading.remarks += result.remarks
        return reading

    def _result(self) -> Result:
        if len(self._finished) > 1:
            return Result(faults=[Fault("incomplete", "The log holds the results of more than one training.")])
        if self._finished:
            counted = [steps.trained_samples for steps in self._ranks.values()]
            return finished(self._finished[0], counted[0] if counted else None)
        if self._language_model:
            return language_model(self._language_model, self.reading.facts)
        if not self._is_of_first_rank():
            return Result()
        reason = "The log has no FINISHED record, which the first rank writes when the training has come to its end."
        return Result(faults=[Fault("incomplete", reason)])

    def _is_of_first_rank(self) -> bool:
        """Says the path, if it is known; else the records, whose ranks begin anew on every node."""
        rank = self.reading.facts.get("rank")
        return rank == 0 if rank is not None else self._local_ranks <= {None} or 0 in self._local_ranks


class _Steps:
    """The STEP_END records of one rank. Steps are counted by `global_steps`, which several records may share."""

    def __init__(self, window: Window) -> None:
        self.series = Series(window)
        self.faults: list[Fault] = []
        self.remarks: list[str] = []
        self.trained_samples: float | None = None
        self._waiting: list[tuple[float, float, float, float]] = []

    def take(self, value: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        step, time = number(value.get("global_steps")), number(metadata.get("time_ms"))
        samples, step_loss = number(value.get("num_trained_samples")), loss(value.get("loss"))
        if step is None:
            return
        if math.isinf(step_loss) and not self.faults:
            self.faults.append(Fault("nan_loss", f"The loss of step {step:.0f} is not a finite number."))
        self.trained_samples = samples if value.get("end_training") is True else None
        self._waiting.append(
            (step, math.nan if time is None else time / 1000, math.nan if samples is None else samples, step_loss)
        )

    def settle(self) -> None:
        """From one record to the next; the last one waits for what follows it."""
        if len(self._waiting) < 2:
            return
        table = np.array(self._waiting)
        table = table[np.diff(table[:, 0], prepend=np.nan) != 0]
        self._waiting = [tuple(table[-1])]
        since, seconds, samples, _ = np.diff(table, axis=0).T
        self._look_for_restart(table[:, 0], since)
        if (seconds < 0).any():
            self.remarks.append("The clock goes back between two records: the time between them is left out.")
        samples = np.where(samples > 0, samples, np.nan)
        good = (since > 0) & (seconds > 0)
        self.series.add(rows(table[1:, 0], since, seconds, samples, table[1:, 3], table[1:, 1]).pick(good))

    def _look_for_restart(self, step: Array, since: Array) -> None:
        back = np.flatnonzero(since < 0)
        if len(back) and not self.faults:
            after, begun = step[back[0]], step[back[0] + 1]
            self.faults.append(
                Fault("incomplete", f"After step {after:.0f} comes step {begun:.0f}: the log holds another training.")
            )


def place(path: PurePath) -> Mapping[str, Any]:
    """<case>/round<k>/<host>_noderank<i>/rank<R>.out.log: R counts over all nodes, other launchers count on each."""
    parts = path.parts
    node, round_ = (_NODE.fullmatch(parts[-2]), _ROUND.fullmatch(parts[-3])) if len(parts) > 3 else (None, None)
    if node is None or round_ is None:
        return {}
    facts = {**_case(parts[-4]), "host": node["host"], "repeat": int(round_[1])}
    file, devices = _RANK_FILE.fullmatch(parts[-1]), facts.get("devices_per_node")
    if file is None and _NODE_FILE.fullmatch(parts[-1]) is None:
        return facts
    number_in_name, first = int(file[1]) if file else 0, int(node["node"]) * (devices or 0)
    if devices or node["node"] == "0":
        facts["rank"] = number_in_name if number_in_name >= (devices or 0) else first + number_in_name
    return facts


def _case(name: str) -> dict[str, Any]:
    old = _OLD_CASE.fullmatch(name)
    if old is not None:
        return {
            "model": old["model"].lower(),
            "framework": _FRAMEWORKS.get(old["framework"], old["framework"].lower()),
            "hardware": old["hardware"],
            "nodes": int(old["nodes"]),
            "devices_per_node": int(old["devices"]),
        }
    try:
        request = CaseRequest.parse(name)
    except ValueError:
        return {}
    named = {"model": request.model, "framework": request.framework, "hardware": request.hardware}
    return {
        **{key: value for key, value in named.items() if value is not None},
        "nodes": request.case.nodes,
        "devices_per_node": request.case.devices_per_node,
    }


DIALECTS = (
    Dialect(
        name="flagperf",
        title="FlagPerf (PerfLog)",
        kinds=(
            kind("record", "[PerfLog] {json:rest}"),
            kind("tokens", "System tokens per second:{_}{value:float}"),
            kind("tokens_of_device", "Tokens/p/s:{_}{value:float}"),
            kind("tflops", "Theory TFLOPS:{_}{value:float}"),
            kind("fact_mfu", "MFU:{_}{value:float}"),
            kind("fact_step_seconds", "avg_iter_time(s):{_}{value:float}"),
        ),
        fold=PerfLog,
        prefers_stated=True,
        warmup=0,
        place=place,
    ),
)

"""FlagPerf: records that its driver writes between the output of the training, one file per rank.

    [PerfLog] {"event": "STEP_END", "value": {"loss": 2.68, "global_steps": 3397, "num_trained_samples": 869632, ...},
               "metadata": {"file": ..., "lineno": 127, "time_ms": 1669034171032, "rank": 0}}

Every rank logs its steps, which count the samples of all; the rank in a record is that within its node, or -1 where the
program does not tell. The first rank of every node writes FINISHED, with the result: see `flagperf_result`. Language
models print their result as text instead. Every log begins with the settings of its case, a line for each.
"""

from __future__ import annotations

import math
import re
from typing import Any, Mapping

import numpy as np

from ..flagperf.case_settings import BATCH, PRECISION, batch_of, is_target, precision_of, targets_of
from ..logs.arrays import Array
from ..logs.dialect import Dialect
from ..logs.json_records import first_record, loss, mapping, number
from ..logs.kinds import kind
from ..logs.matching import Found, Table, in_order
from ..logs.reading import Fault, Fold, Reading
from ..logs.series import Series, Window, rows
from .flagperf_result import MEASURES, Result, finished, language_model
from .flagperf_tree import place

_MOST_RANKS = 4096
_MOST_RESULTS = 64  # of the nodes that write into one log
_PASSED_OVER = b'{"event": "STEP_BEGIN"'
_OF_TRAINING = {"TRAIN_START", "EPOCH_BEGIN", "STEP_END", "TRAIN_END", "FINISHED"}
_BENCHMARK = re.compile(r"/benchmarks/(?P<model>[^/]{1,80})/(?P<framework>[^/_]{1,80})[^/]{0,80}/")


class PerfLog(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._ranks: dict[int | None, _Steps] = {}
        self._local_ranks: set[int | None] = set()
        self._finished: list[tuple[int | None, Mapping[str, Any]]] = []
        self._language_model: dict[str, float] = {}
        self._settings: dict[str, object] = {}
        self._times: dict[str, float] = {}
        self._torn = 0
        self._has_records = self._has_trained = self._has_traceback = False

    def take(self, found: Found, rank: int | None) -> None:
        tables = dict(found)
        for name in ("fact_setting", "fact_setting_of_vendor"):
            self._take_settings(tables.pop(name, None))
        self._take_losses(tables.pop("fact_step", None))
        self._has_traceback |= tables.pop("fact_traceback", None) is not None
        records = tables.pop("record", None)
        if records is not None:
            self._has_records = True
            for text in records.fields["json"]:
                self._take_text(text, rank)
            for steps in self._ranks.values():
                steps.settle()
        for name, row in in_order(tables):
            if name == "tokens":
                self._language_model = {}
            self._language_model[name] = row["value"]

    def _take_settings(self, table: Table | None) -> None:
        for row in table.rows() if table is not None else ():
            name = row["name"].decode(errors="replace")
            if name in BATCH or name in PRECISION or is_target(name):
                self._settings.setdefault(name, _literal(row["value"]))

    def _take_losses(self, table: Table | None) -> None:
        """Of benchmarks that write no records of their steps, but a line on some."""
        if table is None:
            return
        self._has_trained = True
        broken = np.flatnonzero(~np.isfinite(table.fields["loss"]))
        if len(broken) and not self.reading.faults:
            step = table.fields["step"][broken[0]]
            self.reading.faults.append(Fault("nan_loss", f"The loss of step {step:.0f} is not a finite number."))

    def _take_text(self, text: bytes, launched_rank: int | None) -> None:
        if text.startswith(_PASSED_OVER):
            self._has_trained = True
            return
        record = first_record(text)
        if record is None:
            self._torn += 1
            return
        event, metadata, value = record.get("event"), mapping(record.get("metadata")), mapping(record.get("value"))
        found = number(metadata.get("rank"))
        local = None if found is None or found < 0 else int(found)
        if local not in self._local_ranks:
            self._take_process(local, metadata)
        if not isinstance(event, str):
            return
        self._has_trained |= event in _OF_TRAINING
        time = number(metadata.get("time_ms"))
        if event in ("TRAIN_START", "TRAIN_END") and time is not None:
            self._times.setdefault(event, time / 1000)
        if event == "STEP_END":
            steps = self._steps_of(local if launched_rank is None else launched_rank)
            steps.take({"global_steps": record.get("step"), **value}, metadata)
        elif event == "FINISHED" and len(self._finished) < _MOST_RESULTS:
            self._finished.append((launched_rank, value))

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
        reading.began = self._times.get("TRAIN_START")
        self._note_settings()
        result = self._result()
        if result.unit is not None:
            self.note({"unit": result.unit})
        reading.stated.update(result.stated)
        reading.faults += result.faults
        reading.remarks += result.remarks
        return reading

    def _note_settings(self) -> None:
        settings, model = self._settings, str(self.reading.facts.get("model"))
        targets = ", ".join(f"{name} = {value:g}" for name, value in targets_of(settings).items())
        batch = batch_of(settings)
        said = {
            "batch": batch[1] if batch else None,
            "precision": precision_of(settings, model),
            "target": targets or None,
        }
        self.note({name: value for name, value in said.items() if value is not None})

    def _result(self) -> Result:
        """Where the first ranks of several nodes write into one log, that of the first node counts."""
        writers = [rank for rank, _ in self._finished]
        if len(set(writers)) < len(writers):
            return Result(faults=[Fault("incomplete", "The log holds the results of more than one training.")])
        if self._finished:
            _, value = min(self._finished, key=lambda entry: entry[0] or 0)
            counted = [steps.trained_samples for steps in self._ranks.values()]
            seconds = self._times.get("TRAIN_END", math.nan) - self._times.get("TRAIN_START", math.nan)
            return finished(value, counted[0] if counted else None, seconds, self.reading.facts.get("target"))
        if self._language_model:
            return language_model(self._language_model, self.reading.facts)
        fault = self._why_no_result()
        return Result(faults=[] if fault is None else [fault])

    def _why_no_result(self) -> Fault | None:
        if not self._has_trained and (self._has_traceback or (self._has_records and self._is_of_first_rank())):
            return Fault("launch_failed", "The log ends before the training begins.")
        if not self._is_of_first_rank():
            return None
        if not self._has_records:
            return Fault("no_data", "The log holds no record of FlagPerf and no result.")
        reason = "The log has no FINISHED record, which the first rank writes when the training has come to its end."
        return Fault("incomplete", reason)

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


def _literal(text: bytes) -> object:
    """Numbers and truth values as Python prints them; anything else stays a text."""
    said = text.decode(errors="replace")
    if said in ("True", "False"):
        return said == "True"
    try:
        value = float(said)
    except ValueError:
        return said
    if number(value) is None:
        return said
    return int(said) if said.isdecimal() else value


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
            kind("fact_setting", "SET CONFIG {name:word} = {value:word}"),
            kind("fact_setting_of_vendor", "SET [Unknown or immutable] CONFIG {name:word} = {value:word}"),
            kind("fact_step", "Train Step {step:int}/{steps:int}, Loss : {loss:float}"),
            kind("fact_traceback", "Traceback (most recent call last):"),
        ),
        fold=PerfLog,
        prefers_stated=True,
        warmup=0,
        place=place,
        measures=MEASURES,
        layer=1,
    ),
)

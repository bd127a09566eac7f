"""MLPerf training: MLLOG lines, as the mlperf-logging package writes them.

    :::MLLOG {"namespace": "", "time_ms": 1652452616243, "event_type": "INTERVAL_START", "key": "run_start",
              "value": null, "metadata": {"file": "fit.py", "lineno": 1348}}

The time to train is from run_start to run_stop of a run that ended with success; an aborted one has none.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePath
from typing import Any, Mapping, Sequence

from ..logs.dialect import Dialect
from ..logs.json_records import first_record, mapping, number, positive
from ..logs.kinds import kind
from ..logs.matching import Found
from ..logs.reading import ExtraTable, Fault, Fold, Reading
from ..logs.series import Window
from .mlperf_run import Run

_KEY = re.compile(rb'"key": ?"([a-z0-9_]{1,64})"')
_NUMBERS = frozenset({"global_batch_size", "train_samples"})
_SUBMISSION = {
    "submission_benchmark": "Benchmark",
    "submission_org": "Submitted by",
    "submission_division": "Division",
    "submission_platform": "Platform",
}
_INTERVALS = frozenset(
    {"epoch_start", "epoch_stop", "block_start", "block_stop", "eval_accuracy", "throughput", "tracked_stats"}
)
_KNOWN = frozenset(key.encode() for key in {"run_start", "run_stop", *_INTERVALS, *_NUMBERS, *_SUBMISSION})
_SHARE_IS_EVALUATED = frozenset({"resnet", "ssd", "maskrcnn", "unet3d", "bert", "dlrm", "dlrm_dcnv2", "gnn", "rgat"})
_ECHO_MS = 60_000  # within it another rank says the same again
_MOST_RUNS = 1000
_LONGEST_NAME = 200
_RESULT_FILE = re.compile(r"result_(\d{1,5})\.txt")
_SYSTEM = re.compile(
    r"(?:(?P<nodes>[1-9]\d{0,4})x)?(?P<hardware>[A-Za-z][\w.-]{0,80}?x(?P<devices>[1-9]\d{0,3})[A-Z].{0,80})"
)
_LARGEST_DESCRIPTION = 1 << 16


class MlLog(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._logs: dict[int | None, _Log] = {}
        self._torn = 0

    def take(self, found: Found, rank: int | None) -> None:
        if "fact_record" not in found:
            return
        log = self._logs.setdefault(rank, _Log())
        for text in found["fact_record"].fields["json"]:
            key = _KEY.search(text)
            if key is not None and key[1] not in _KNOWN:
                continue
            record = first_record(text)
            time_ms = None if record is None else _time_ms(record)
            if record is None or time_ms is None:
                self._torn += 1
            else:
                log.take(record, time_ms)

    def finish(self) -> Reading:
        reading = self.reading
        if self._torn:
            reading.remarks.append(f"Records that are torn or damaged, and left out: {self._torn}.")
        logs = [self._logs[rank] for rank in sorted(self._logs, key=lambda rank: -1 if rank is None else rank)]
        log = next((log for log in logs if log.runs), logs[0] if logs else _Log())
        log.complete([other for other in logs if other is not log])
        benchmark = log.names.get("submission_benchmark", "")
        self.note({"model": benchmark} if benchmark else {})
        self._note_platform(log.names.get("submission_platform", ""))
        if log.names:
            reading.tables.append(
                ExtraTable("MLPerf submission", ("", ""), [(_SUBMISSION[key], name) for key, name in log.names.items()])
            )
        if log.runs:
            rows = [(number, run.status, run.seconds, run.accuracy) for number, run in enumerate(log.runs, 1)]
            reading.tables.append(ExtraTable("MLPerf runs", ("Run", "Status", "Seconds", "Last evaluation"), rows))
        fault = _fault(log.runs)
        if fault is not None:
            reading.faults.append(fault)
        else:
            self._take_run(log.runs[0], benchmark, log.values)
        return reading

    def _note_platform(self, platform: str) -> None:
        """A name that somebody typed, and often that of another system of the same vendor: the path counts."""
        facts, said = self.reading.facts, _system(platform)
        others = [name for name in ("nodes", "devices_per_node") if facts.get(name, said.get(name)) != said.get(name)]
        if said and others:
            self.reading.remarks.append(
                f"The log calls its platform {platform}, the path says {facts['nodes']} nodes with"
                f" {facts['devices_per_node']} devices each: that counts."
            )
        for name, value in said.items():
            facts.setdefault(name, value)

    def _take_run(self, run: Run, benchmark: str, values: Mapping[str, float]) -> None:
        reading = self.reading
        if run.seconds is not None:
            reading.stated["time_to_train_s"] = run.seconds
        if run.accuracy is not None and benchmark in _SHARE_IS_EVALUATED and 0 <= run.accuracy <= 1:
            reading.stated["accuracy"] = run.accuracy
        rows, reason = run.trained(benchmark, values)
        if rows is not None:
            reading.of_rank(None).add(rows)
        elif reason is not None:
            reading.unstated["throughput"] = reason


def _fault(runs: list[Run]) -> Fault | None:
    if len(runs) != 1:
        what = f"{len(runs)} runs: cut it into one log per run" if runs else "no run_start"
        return Fault("incomplete", f"The log holds {what}.")
    run = runs[0]
    if run.seconds is None:
        return Fault("incomplete", "The log has no run_stop: the run did not come to its end.")
    if run.seconds <= 0:
        return Fault("incomplete", "The run stops before it starts: a clock is wrong.")
    if run.status == "aborted":
        return Fault("rule_failed", f"The run was aborted after {run.seconds / 60:.2f} minutes, short of its target.")
    if run.status != "success":
        return Fault("incomplete", f"The run ended with the status {run.status}, not with success.")
    return None


class _Log:
    """What one process says, or all of them where their lines cannot be told apart."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, float] = {}
        self.runs: list[Run] = []
        self.stops: list[tuple[float, Mapping[str, Any]]] = []

    def take(self, record: Mapping[str, Any], time_ms: float) -> None:
        key, value, metadata = str(record.get("key")), record.get("value"), mapping(record.get("metadata"))
        if key == "run_start":
            self._start(time_ms)
        elif key == "run_stop":
            self._stop(time_ms, metadata)
        elif key in _NUMBERS:
            found = positive(value)
            if found is not None:
                self.values.setdefault(key, found)
        elif key in _SUBMISSION:
            if isinstance(value, str):
                self.names.setdefault(key, value[:_LONGEST_NAME])
        elif key in _INTERVALS and self.runs and self.runs[-1].stopped_ms is None:
            self.runs[-1].take(key, time_ms, value, metadata)

    def complete(self, others: Sequence[_Log]) -> None:
        """With what other ranks say: the one that begins a run need not be the one that ends it."""
        for other in others:
            self.names = {**other.names, **self.names}
            self.values = {**other.values, **self.values}
        if len(self.runs) == 1 and self.runs[0].stopped_ms is None:
            started = self.runs[0].started_ms
            for time_ms, metadata in sorted(
                (stop for other in others for stop in other.stops), key=lambda stop: stop[0]
            ):
                if time_ms >= started:
                    self._stop(time_ms, metadata)

    def _start(self, time_ms: float) -> None:
        last = self.runs[-1] if self.runs else None
        if last is not None and last.stopped_ms is None:
            echo = not last.has_trained and time_ms - last.started_ms <= _ECHO_MS
        else:
            echo = last is not None and last.stopped_ms is not None and time_ms <= last.stopped_ms
        if not echo and len(self.runs) < _MOST_RUNS:
            self.runs.append(Run(time_ms))

    def _stop(self, time_ms: float, metadata: Mapping[str, Any]) -> None:
        """The last of the ranks counts, and the worst."""
        if len(self.stops) < _MOST_RUNS:
            self.stops.append((time_ms, metadata))
        if not self.runs:
            return
        last, named = self.runs[-1], str(metadata.get("status"))[:_LONGEST_NAME]
        last.take_rate(metadata.get("throughput"))
        if last.stopped_ms is None:
            last.stopped_ms, last.status = time_ms, named
        elif abs(time_ms - last.stopped_ms) <= _ECHO_MS:
            last.stopped_ms = max(last.stopped_ms, time_ms)
            last.status = last.status if named == "success" else named


def _time_ms(record: Mapping[str, Any]) -> float | None:
    """Some name the seconds."""
    time_ms, time_s = number(record.get("time_ms")), number(record.get("time_s"))
    return time_ms if time_ms is not None or time_s is None else 1000 * time_s


def place(path: PurePath) -> Mapping[str, Any]:
    """results/<system>/<benchmark>/result_<k>.txt with systems/<system>.json beside `results`, or a system whose name
    says of how many nodes and devices it is, as in 2xXE8545x4A100/result_<k>.txt."""
    file = _RESULT_FILE.fullmatch(path.name)
    if file is None:
        return {}
    facts: dict[str, Any] = {"repeat": int(file[1]) + 1, **_scaling(path.parent)}
    for folder in list(path.parents)[:2]:
        found = _described(folder) or _system(folder.name)
        if found:
            return {**facts, **found}
    return facts


def _system(name: str) -> Mapping[str, Any]:
    match = _SYSTEM.fullmatch(name)
    if match is None:
        return {}
    return {
        "nodes": int(match["nodes"] or 1),
        "devices_per_node": int(match["devices"]),
        "hardware": match["hardware"],
    }


def _scaling(folder: PurePath) -> Mapping[str, Any]:
    """What MLPerf's checker of convergence left beside the logs of a result."""
    factor = positive(_content(Path(folder, "scaling.json")).get("scaling_factor"))
    return {} if factor is None else {"time_to_train_scaling": factor}


def _content(file: Path) -> Mapping[str, Any]:
    """Nothing where there is no such file, or no object in it."""
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST_DESCRIPTION:
            return {}
        return mapping(json.loads(file.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}


def _described(system: PurePath) -> Mapping[str, Any]:
    """The folder of a system is in `results`, its description in `systems` beside that."""
    described = _content(Path(system.parent.parent, "systems", f"{system.name}.json"))
    counts = [_count(described.get(key)) for key in ("number_of_nodes", "accelerators_per_node")]
    if None in counts:
        return {}
    names = {"hardware": "accelerator_model_name", "framework": "framework"}
    texts = {fact: str(described[key]).strip() for fact, key in names.items() if described.get(key)}
    if "framework" in texts:
        texts["framework"] = texts["framework"].split()[0].lower()
    return {"nodes": counts[0], "devices_per_node": counts[1], **texts}


def _count(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 6 and int(text) else None


DIALECTS = (
    Dialect(
        name="mlperf",
        title="MLPerf training (MLLOG)",
        kinds=(
            kind("fact_record", ":::MLLOG {json:rest}"),  # logs of power meters have such lines too
            kind("run", '"key": "run_{which:word}'),
            kind("submission", '"key": "submission_{which:word}'),
        ),
        fold=MlLog,
        warmup=0,
        place=place,
        layer=1,
    ),
)

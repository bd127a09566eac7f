"""mllog/<case>-r<repeat>.log: a repeat in the format of MLPerf's result files, for the tools that read those.

Only what a run knows is written. It is no submission: the benchmark has our own name, and there is no organisation,
division or status of one. `docs/mllog.md` says which rules of MLPerf's compliance checker that leaves open.
"""

from __future__ import annotations

import json
import math
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from ..judging.result import Judged
from ..logs.digest import RankDigest
from ..logs.reading import Evaluation
from ..run.manifest import Manifest, PlannedCase

_LATEST = 1e11
_POINT, _START, _END = "POINT_IN_TIME", "INTERVAL_START", "INTERVAL_END"


class _Line(NamedTuple):
    time: float
    kind: str
    key: str
    value: Any
    metadata: Mapping[str, Any]


def mllog_files(manifest: Manifest, judged: Sequence[Judged]) -> Mapping[str, bytes]:
    """By their path in the folder of the run."""
    cases = {planned.case: planned for planned in manifest.cases}
    files = {}
    for one in judged:
        lines = _lines(manifest, cases[one.result.case], one)
        path = PurePosixPath("mllog", f"{one.result.case}-r{one.result.repeat}.log")
        files[str(path)] = "".join(map(_text, lines)).encode()
    return files


def _lines(manifest: Manifest, planned: PlannedCase, judged: Judged) -> Iterator[_Line]:
    starts = _sensible(log.began for log in judged.logs)
    begin = min(_sensible(rank.begin for rank in judged.ranks.values()), default=None)
    first = min([*starts, *([] if begin is None else [begin])], default=_seconds(manifest.started))
    yield from _what_it_is(manifest, planned, judged, first)
    if starts:
        yield _Line(first, _START, "init_start", None, {})
    if begin is not None:
        yield _Line(begin, _END, "init_stop", None, {})
        yield from _training(judged, begin, manifest.unit)


def _what_it_is(manifest: Manifest, planned: PlannedCase, judged: Judged, time: float) -> Iterator[_Line]:
    about = {
        "run_id": manifest.run_id,
        "framework": manifest.framework,
        "case": planned.case,
        "repeat": judged.result.repeat,
        "precision": planned.precision,
        "data": manifest.data,
        "simulated": list(manifest.simulated),
        "state": judged.result.state,
        "reason": judged.result.reason,
    }
    platform = f"{planned.nodes}x{planned.devices_per_node}x{manifest.device}"
    yield _Line(time, _POINT, "submission_benchmark", manifest.workload, about)
    yield _Line(time, _POINT, "submission_platform", platform, {})
    yield _Line(time, _POINT, "cache_clear", False, {})
    if planned.batch_per_device is not None:
        yield _Line(time, _POINT, "global_batch_size", planned.batch_per_device * planned.world_size, {})
        yield _Line(time, _POINT, "micro_batch_size", planned.batch_per_device, {})
    if isinstance(manifest.settings.get("seed"), int):
        yield _Line(time, _POINT, "seed", manifest.settings["seed"], {})


def _training(judged: Judged, begin: float, unit: str) -> Iterator[_Line]:
    """From the begin of the first step to the last thing that was logged; a block is what lies between evaluations."""
    ranks = list(judged.ranks.values())
    last_step = max(_sensible(rank.finished for rank in ranks), default=begin)
    evaluations = judged.logs[0].evaluations if judged.logs else ()
    ends = _sensible(log.ended for log in judged.logs)
    end = max([last_step, *(one.time for one in evaluations), *ends])
    done = _samples_until(ranks, math.inf)
    yield _Line(begin, _START, "run_start", None, {})
    yield from _blocks(ranks, evaluations, begin, last_step)
    if judged.result.throughput is not None:
        stats = {"throughput": judged.result.throughput}
        yield _Line(end, _POINT, "tracked_stats", stats, {"samples_count": done, "unit": unit})
    status = "success" if judged.result.state == "ok" else "aborted"
    yield _Line(end, _END, "run_stop", None, {"samples_count": done, "status": status})


def _blocks(
    ranks: Sequence[RankDigest], evaluations: Sequence[Evaluation], begin: float, end: float
) -> Iterator[_Line]:
    """`begin` and `end` are those of the training steps."""
    yield _Line(begin, _START, "block_start", None, {"samples_count": 0})
    in_block = True
    last_step = max((rank.end_of_log for rank in ranks), default=0)
    for evaluation in evaluations:
        samples = {"samples_count": _samples_until(ranks, evaluation.step)}
        before = evaluation.time - evaluation.seconds
        if in_block:
            yield _Line(before, _END, "block_stop", None, samples)
        yield _Line(before, _START, "eval_start", None, samples)
        yield _Line(evaluation.time, _POINT, "eval_accuracy", evaluation.accuracy, samples)
        yield _Line(evaluation.time, _END, "eval_stop", None, samples)
        in_block = evaluation.step < last_step
        if in_block:
            yield _Line(evaluation.time, _START, "block_start", None, samples)
    if in_block:
        yield _Line(end, _END, "block_stop", None, {"samples_count": _samples_until(ranks, math.inf)})


def _samples_until(ranks: Sequence[RankDigest], step: float) -> float | None:
    """None where the log does not count them; before its end all steps of a rank are taken to have as many."""
    counts = [
        rank.logged_samples if step >= rank.end_of_log else (rank.samples_per_step or math.nan) * step for rank in ranks
    ]
    samples = math.fsum(counts)
    if not math.isfinite(samples):
        return None
    return int(samples) if samples == int(samples) else samples


def _sensible(times: Iterable[float | None]) -> list[float]:
    return [time for time in times if time is not None and 0 < time < _LATEST]


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


def _text(line: _Line) -> str:
    record = {
        "namespace": "",
        "time_ms": round(line.time * 1000),
        "event_type": line.kind,
        "key": line.key,
        "value": line.value,
        "metadata": line.metadata,
    }
    return f":::MLLOG {json.dumps(record, allow_nan=False)}\n"

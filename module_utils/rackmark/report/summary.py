"""The numbers of a run: every repeat is judged, those that are ok become statistics, and none is left out of sight."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Iterable, Mapping, Sequence, TypedDict

from ..dialects import reader
from ..judging.judge import Judged, Plan, Result, judge
from ..judging.repeat import repeat_folder
from ..run.manifest import Manifest, PlannedCase
from . import statistics
from .measurements import Measurements
from .olympic import olympic_mean_of

SCHEMA = "rackmark.summary/1"
HIGHEST_PLAUSIBLE_EFFICIENCY = 1.05
IMPLAUSIBLE = f"efficiency over {HIGHEST_PLAUSIBLE_EFFICIENCY * 100:.0f} %"


class Run(TypedDict):
    repeat: int
    state: str
    throughput: float | None
    whole: float | None
    no_eval: float | None
    loss: float | None
    accuracy: float | None
    time_to_train_s: float | None
    energy_j: float | None
    samples_per_j: float | None
    energy_of: str | None
    attempts: int
    reason: str | None


class CaseSummary(TypedDict):
    case: str
    nodes: int
    devices_per_node: int
    world_size: int
    batch_per_device: int | None
    precision: str
    state: str
    repeats_ok: int
    repeats_total: int
    runs: list[Run]
    mean: float | None
    median: float | None
    ci95: Sequence[float] | None
    speedup: float | None
    speedup_ci95: Sequence[float] | None
    efficiency: float | None
    efficiency_ci95: Sequence[float] | None
    whole_median: float | None
    no_eval_median: float | None
    step_seconds_p50: float | None
    step_seconds_p95: float | None
    step_seconds_p99: float | None
    rank_spread: float | None
    loss: float | None
    accuracy: float | None
    time_to_train_s: float | None
    time_to_train_olympic_s: float | None
    energy_j: float | None
    samples_per_j: float | None
    energy_of: str | None
    flags: list[str]


class Summary(TypedDict):
    schema: str
    run_id: str
    workload: str
    framework: str
    unit: str
    device: str
    state: str
    states: Mapping[str, int]
    baseline: str | None
    no_baseline_because: str | None
    scaling: str
    simulated: list[str]
    started: str
    finished: str | None
    cases: list[CaseSummary]


def judge_run(run_dir: Path, manifest: Manifest) -> list[Judged]:
    read_log = reader(manifest.dialect)
    return [
        judge(
            repeat_folder(run_dir, planned.case, repeat),
            repeat,
            Plan(planned, manifest.warmup, manifest.steps, manifest.device),
            read_log,
        )
        for planned in manifest.cases
        for repeat in range(1, planned.repeats + 1)
    ]


def summarize(manifest: Manifest, judged: Sequence[Judged], measured: Mapping[str, Measurements]) -> Summary:
    results = [one.result for one in judged]
    baseline, why_none = _baseline(manifest, results)
    return {
        "schema": SCHEMA,
        "run_id": manifest.run_id,
        "workload": manifest.workload,
        "framework": manifest.framework,
        "unit": manifest.unit,
        "device": manifest.device,
        "state": _state(results),
        "states": dict(Counter(result.state for result in results)),
        "baseline": baseline.case if baseline else None,
        "no_baseline_because": why_none,
        "scaling": manifest.scaling,
        "simulated": list(manifest.simulated),
        "started": manifest.started,
        "finished": _finished(results),
        "cases": [
            _summarize_case(planned, judged, measured[planned.case], baseline, manifest.workload)
            for planned in manifest.cases
        ],
    }


def _summarize_case(
    planned: PlannedCase,
    judged: Sequence[Judged],
    measured: Measurements,
    baseline: PlannedCase | None,
    workload: str,
) -> CaseSummary:
    results = [one.result for one in judged]
    runs = [_run(one) for one in judged if one.result.case == planned.case]
    ok = [run for run in runs if run["state"] == "ok"]
    values = _known(run["throughput"] for run in ok)
    speedup, speedup_interval = _speedup(planned, baseline, results)
    ideal = planned.world_size / baseline.world_size if baseline else None
    efficiency = speedup / ideal if speedup is not None and ideal else None
    implausible = efficiency is not None and efficiency > HIGHEST_PLAUSIBLE_EFFICIENCY
    return {
        "case": planned.case,
        "nodes": planned.nodes,
        "devices_per_node": planned.devices_per_node,
        "world_size": planned.world_size,
        "batch_per_device": planned.batch_per_device,
        "precision": planned.precision,
        "state": _state([one for one in results if one.case == planned.case]),
        "repeats_ok": len(ok),
        "repeats_total": len(runs),
        "runs": runs,
        "mean": statistics.mean(values),
        "median": statistics.median(values),
        "ci95": statistics.median_interval(values),
        "speedup": speedup,
        "speedup_ci95": speedup_interval,
        "efficiency": efficiency,
        "efficiency_ci95": [bound / ideal for bound in speedup_interval] if speedup_interval and ideal else None,
        "whole_median": statistics.median(_known(run["whole"] for run in ok)),
        "no_eval_median": statistics.median(_known(run["no_eval"] for run in ok)),
        "step_seconds_p50": statistics.quantile(measured.steps, 0.50),
        "step_seconds_p95": statistics.quantile(measured.steps, 0.95),
        "step_seconds_p99": statistics.quantile(measured.steps, 0.99),
        "rank_spread": measured.spread,
        "loss": statistics.median(_known(run["loss"] for run in ok)),
        "accuracy": statistics.median(_known(run["accuracy"] for run in ok)),
        "time_to_train_s": statistics.median(_known(run["time_to_train_s"] for run in ok)),
        "time_to_train_olympic_s": olympic_mean_of(workload, runs).seconds,
        "energy_j": statistics.median(_known(run["energy_j"] for run in ok)),
        "samples_per_j": statistics.median(_known(run["samples_per_j"] for run in ok)),
        "energy_of": next((run["energy_of"] for run in ok if run["energy_j"] is not None), None),
        "flags": [*([IMPLAUSIBLE] if implausible else []), *_outliers(ok)],
    }


def throughputs(case: CaseSummary) -> list[float]:
    return _known(run["throughput"] for run in case["runs"])


def _outliers(runs: Sequence[Run]) -> list[str]:
    """They stay in every number: who reads it decides."""
    known = [(run["repeat"], run["throughput"]) for run in runs if run["throughput"] is not None]
    found = statistics.outliers([throughput for _, throughput in known])
    return [
        f"repeat {known[place][0]} is an outlier: {abs(distance) * 100:.1f} % {'below' if distance < 0 else 'above'}"
        " the median"
        for place, distance in found.items()
    ]


def _run(judged: Judged) -> Run:
    result = judged.result
    return {
        "repeat": result.repeat,
        "state": result.state,
        "throughput": result.throughput,
        "whole": result.whole,
        "no_eval": result.no_eval,
        "loss": result.loss,
        "accuracy": result.accuracy,
        "time_to_train_s": result.time_to_train_s,
        "energy_j": result.energy_j,
        "samples_per_j": result.samples_per_j,
        "energy_of": result.energy_of,
        "attempts": result.attempts,
        "reason": result.reason,
    }


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _baseline(manifest: Manifest, results: Sequence[Result]) -> tuple[PlannedCase | None, str | None]:
    """The case that is named, else that with one device: a larger one hides what is lost on the way to its size."""
    named = [case for case in manifest.cases if case.case == manifest.baseline]
    chosen = named or [case for case in manifest.cases if case.world_size == 1]
    if not chosen:
        return None, "the run has no case with one device and names no other as baseline"
    if not _throughputs(chosen[0], results):
        return None, f"no repeat of {chosen[0].case} is ok"
    return chosen[0], None


def _speedup(
    planned: PlannedCase, baseline: PlannedCase | None, results: Sequence[Result]
) -> tuple[float | None, statistics.Interval | None]:
    values = _throughputs(planned, results)
    if baseline is None or not values:
        return None, None
    if planned == baseline:
        return 1.0, None  # by definition, so there is no uncertainty to show
    base = _throughputs(baseline, results)
    return statistics.ratio_of_medians(values, base), statistics.ratio_interval(values, base)


def _throughputs(planned: PlannedCase, results: Sequence[Result]) -> list[float]:
    return [result.throughput for result in results if result.case == planned.case and result.throughput is not None]


def _state(results: Sequence[Result]) -> str:
    good = sum(result.state == "ok" for result in results)
    if good == len(results):
        return "ok"
    return "partial" if good else "failed"


def _finished(results: Sequence[Result]) -> str | None:
    times = [result.finished for result in results if result.finished is not None]
    return datetime.fromtimestamp(max(times), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") if times else None

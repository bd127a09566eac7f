"""The numbers of a run: repeats that are ok become statistics, and none is left out of sight."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone
from typing import Iterable, Mapping, Sequence

from ..judging.result import Judged, Result
from ..run.manifest import Manifest, PlannedCase
from ..run.measures import Measure
from . import estimates
from .measurements import Measurements
from .olympic import olympic_mean_of, scaling_of
from .summary_json import SCHEMA, CaseSummary, MeasureSummary, Run, Summary, values_of
from .words import listed

HIGHEST_PLAUSIBLE_EFFICIENCY = 1.05
IMPLAUSIBLE = f"efficiency over {HIGHEST_PLAUSIBLE_EFFICIENCY * 100:.0f} %"


def summarize(manifest: Manifest, judged: Sequence[Judged], measured: Mapping[str, Measurements]) -> Summary:
    results = [one.result for one in judged]
    runs = {
        planned.case: [_run(result) for result in results if result.case == planned.case] for planned in manifest.cases
    }
    baseline, why_none = _baseline(manifest, runs)
    headline = manifest.measures[manifest.headline]
    return {
        "schema": SCHEMA,
        "run_id": manifest.run_id,
        "workload": manifest.workload,
        "framework": manifest.framework,
        "headline": headline.name,
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
            _case(planned, runs, measured[planned.case], manifest, baseline, headline) for planned in manifest.cases
        ],
    }


def _case(
    planned: PlannedCase,
    runs: Mapping[str, list[Run]],
    measured: Measurements,
    manifest: Manifest,
    baseline: PlannedCase | None,
    headline: Measure,
) -> CaseSummary:
    own = runs[planned.case]
    ok = [run for run in own if run["state"] == "ok"]
    measures = {measure.name: _measure(measure, ok) for measure in manifest.measures.values()}
    speedup, speedup_interval = _speedup(planned, baseline, runs, headline)
    ideal = planned.world_size / baseline.world_size if baseline else None
    efficiency = speedup / ideal if speedup is not None and ideal else None
    implausible = efficiency is not None and efficiency > HIGHEST_PLAUSIBLE_EFFICIENCY
    of_headline = measures[headline.name]
    return {
        "case": planned.case,
        "nodes": planned.nodes,
        "devices_per_node": planned.devices_per_node,
        "world_size": planned.world_size,
        "batch_per_device": planned.batch_per_device,
        "precision": planned.precision,
        "state": _state_of(len(ok), len(own)),
        "repeats_ok": len(ok),
        "repeats_total": len(own),
        "runs": own,
        "mean": of_headline["mean"],
        "median": of_headline["median"],
        "ci95": of_headline["ci95"],
        "speedup": speedup,
        "speedup_ci95": speedup_interval,
        "efficiency": efficiency,
        "efficiency_ci95": [bound / ideal for bound in speedup_interval] if speedup_interval and ideal else None,
        "whole_median": estimates.median(_known(run["whole"] for run in ok)),
        "no_eval_median": estimates.median(_known(run["no_eval"] for run in ok)),
        "step_seconds_p50": estimates.quantile(measured.steps, 0.50),
        "step_seconds_p95": estimates.quantile(measured.steps, 0.95),
        "step_seconds_p99": estimates.quantile(measured.steps, 0.99),
        "rank_spread": measured.spread,
        "loss": estimates.median(_known(run["loss"] for run in ok)),
        "accuracy": estimates.median(_known(run["accuracy"] for run in ok)),
        "time_to_train_s": estimates.median(_known(run["time_to_train_s"] for run in ok)),
        "time_to_train_olympic_s": olympic_mean_of(manifest.workload, own).seconds,
        "time_to_train_scaling": scaling_of(own),
        "energy_j": estimates.median(_known(run["energy_j"] for run in ok)),
        "samples_per_j": estimates.median(_known(run["samples_per_j"] for run in ok)),
        "energy_of": next((run["energy_of"] for run in ok if run["energy_j"] is not None), None),
        "e2e_s": estimates.median(_known(run["e2e_s"] for run in ok)),
        "device_memory_mb": estimates.median(_known(run["device_memory_mb"] for run in ok)),
        "device_memory_total_mb": estimates.median(_known(run["device_memory_total_mb"] for run in ok)),
        "measures": measures,
        "flags": [
            *([IMPLAUSIBLE] if implausible else []),
            *_not_converged(ok, manifest),
            *_outliers(ok, headline.name),
            *(f"repeat {run['repeat']} {doubt}" for run in ok for doubt in run["doubts"]),
            *measured.stragglers,
        ],
    }


def _measure(measure: Measure, ok: Sequence[Run]) -> MeasureSummary:
    values = values_of({"runs": ok}, measure.name)
    return {
        "unit": measure.unit,
        "better": measure.better,
        "median": estimates.median(values),
        "mean": estimates.mean(values),
        "ci95": estimates.median_interval(values),
        "values": values,
    }


def _not_converged(ok: Sequence[Run], manifest: Manifest) -> list[str]:
    """Their other numbers count, and the time to the target is that of the other repeats."""
    missed = [str(run["repeat"]) for run in ok if run["converged"] is False]
    if not missed:
        return []
    target = f"its target {manifest.target}" if manifest.target else "its target"
    return [f"did not reach {target} in repeat{'s' if len(missed) > 1 else ''} {listed(missed)} (converged: false)"]


def _outliers(ok: Sequence[Run], headline: str) -> list[str]:
    """They stay in every number: who reads it decides."""
    known = [(run["repeat"], value) for run in ok for value in values_of({"runs": [run]}, headline)]
    found = estimates.outliers([value for _, value in known])
    return [
        f"repeat {known[place][0]} is an outlier: {abs(distance) * 100:.1f} % {'below' if distance < 0 else 'above'}"
        " the median"
        for place, distance in found.items()
    ]


def _run(result: Result) -> Run:
    return {
        "repeat": result.repeat,
        "state": result.state,
        "throughput": result.throughput,
        "whole": result.whole,
        "no_eval": result.no_eval,
        "loss": result.loss,
        "accuracy": result.accuracy,
        "time_to_train_s": result.time_to_train_s,
        "time_to_train_scaling": result.time_to_train_scaling,
        "converged": result.converged,
        "energy_j": result.energy_j,
        "samples_per_j": result.samples_per_j,
        "energy_of": result.energy_of,
        "began": result.began,
        "e2e_s": result.e2e_s,
        "device_memory_mb": result.device_memory_mb,
        "device_memory_total_mb": result.device_memory_total_mb,
        "attempts": result.attempts,
        "attempts_counted": result.attempts_counted,
        "reason": result.reason,
        "measures": result.measures or {"throughput": result.throughput},
        "missing": result.missing,
        "doubts": list(result.doubts),
    }


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _baseline(manifest: Manifest, runs: Mapping[str, list[Run]]) -> tuple[PlannedCase | None, str | None]:
    """The case that is named, else that with one device: a larger one hides what is lost on the way to its size."""
    named = [case for case in manifest.cases if case.case == manifest.baseline]
    chosen = named or [case for case in manifest.cases if case.world_size == 1]
    if not chosen:
        return None, "the run has no case with one device and names no other as baseline"
    if not values_of({"runs": runs[chosen[0].case]}, manifest.headline):
        is_ok = any(run["state"] == "ok" for run in runs[chosen[0].case])
        lacks = f"that is ok has {manifest.unit}" if is_ok else "is ok"
        return None, f"no repeat of {chosen[0].case} {lacks}"
    return chosen[0], None


def _speedup(
    planned: PlannedCase, baseline: PlannedCase | None, runs: Mapping[str, list[Run]], headline: Measure
) -> tuple[float | None, Sequence[float] | None]:
    """How many times as good as the baseline."""
    values = values_of({"runs": runs[planned.case]}, headline.name)
    if baseline is None or not values:
        return None, None
    if planned == baseline:
        return 1.0, None  # by definition, so there is no uncertainty to show
    base = values_of({"runs": runs[baseline.case]}, headline.name)
    over, under = (base, values) if headline.better == "lower" else (values, base)
    return estimates.ratio_of_medians(over, under), estimates.ratio_interval(over, under)


def _state(results: Sequence[Result]) -> str:
    return _state_of(sum(result.state == "ok" for result in results), len(results))


def _state_of(good: int, total: int) -> str:
    if good == total:
        return "ok"
    return "partial" if good else "failed"


def _finished(results: Sequence[Result]) -> str | None:
    times = [result.finished for result in results if result.finished is not None]
    return datetime.fromtimestamp(max(times), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") if times else None

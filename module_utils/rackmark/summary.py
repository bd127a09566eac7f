"""The numbers of a run: every repeat is judged, those that are ok become statistics, and none is left out of sight."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Iterable, Mapping, Sequence, TypedDict

from . import statistics
from .dialects import reader
from .judge import Plan, Result, judge
from .manifest import Manifest, PlannedCase
from .repeat import repeat_folder

SCHEMA = "rackmark.summary/1"
HIGHEST_PLAUSIBLE_EFFICIENCY = 1.05


class Run(TypedDict):
    repeat: int
    state: str
    throughput: float | None
    whole: float | None
    no_eval: float | None
    reason: str | None


class CaseSummary(TypedDict):
    case: str
    nodes: int
    devices_per_node: int
    world_size: int
    batch_per_device: int
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
    energy_j: float | None
    samples_per_j: float | None
    flags: list[str]


class Summary(TypedDict):
    schema: str
    run_id: str
    workload: str
    framework: str
    unit: str
    device: str
    state: str
    baseline: str | None
    scaling: str
    simulated: list[str]
    started: str
    finished: str | None
    cases: list[CaseSummary]


def judge_run(run_dir: Path, manifest: Manifest) -> list[Result]:
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


def summarize(manifest: Manifest, results: Sequence[Result]) -> Summary:
    baseline = _baseline(manifest.cases, results)
    return {
        "schema": SCHEMA,
        "run_id": manifest.run_id,
        "workload": manifest.workload,
        "framework": manifest.framework,
        "unit": manifest.unit,
        "device": manifest.device,
        "state": _state(results),
        "baseline": baseline.case if baseline else None,
        "scaling": manifest.scaling,
        "simulated": list(manifest.simulated),
        "started": manifest.started,
        "finished": _finished(results),
        "cases": [_summarize_case(planned, results, baseline) for planned in manifest.cases],
    }


def _summarize_case(planned: PlannedCase, results: Sequence[Result], baseline: PlannedCase | None) -> CaseSummary:
    own = [result for result in results if result.case == planned.case]
    values = _throughputs(planned, results)
    median = statistics.median(values)
    speedup, speedup_interval = _speedup(planned, baseline, results)
    efficiency = None if speedup is None else speedup / planned.world_size
    implausible = efficiency is not None and efficiency > HIGHEST_PLAUSIBLE_EFFICIENCY
    return {
        "case": planned.case,
        "nodes": planned.nodes,
        "devices_per_node": planned.devices_per_node,
        "world_size": planned.world_size,
        "batch_per_device": planned.batch_per_device,
        "precision": planned.precision,
        "state": _state(own),
        "repeats_ok": len(values),
        "repeats_total": len(own),
        "runs": [_run(result) for result in own],
        "mean": statistics.mean(values),
        "median": median,
        "ci95": statistics.mean_interval(values),
        "speedup": speedup,
        "speedup_ci95": speedup_interval,
        "efficiency": efficiency,
        "efficiency_ci95": [bound / planned.world_size for bound in speedup_interval] if speedup_interval else None,
        "energy_j": None,
        "samples_per_j": None,
        "flags": [f"efficiency over {HIGHEST_PLAUSIBLE_EFFICIENCY * 100:.0f} %"] if implausible else [],
    }


def _run(result: Result) -> Run:
    return {
        "repeat": result.repeat,
        "state": result.state,
        "throughput": result.throughput,
        "whole": result.whole,
        "no_eval": result.no_eval,
        "reason": result.reason,
    }


def _baseline(cases: Iterable[PlannedCase], results: Sequence[Result]) -> PlannedCase | None:
    """One device: compared with anything larger, the loss on the way to that size would stay hidden."""
    for planned in cases:
        if planned.world_size == 1 and _throughputs(planned, results):
            return planned
    return None


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


def summary_files(summary: Summary, results: Sequence[Result]) -> Mapping[str, bytes]:
    """The files that hold the numbers, by their path in the folder of the run."""
    files = {"summary.json": _json(summary), "summary.csv": _csv(summary)}
    for result in results:
        content = {"schema": "rackmark.result/1", **asdict(result)}
        files[f"{repeat_folder(Path(), result.case, result.repeat)}/result.json"] = _json(content)
    return files


def _json(content: object) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _csv(summary: Summary) -> bytes:
    rows = [_csv_row(summary, case) for case in summary["cases"]]
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _csv_row(summary: Summary, case: CaseSummary) -> dict[str, object]:
    """A missing number is an empty field; an interval is two columns."""
    row: dict[str, object] = {
        name: summary[name] for name in ("run_id", "workload", "framework", "device", "unit", "scaling", "baseline")
    }
    for name, value in case.items():
        if name.endswith("ci95"):
            row[f"{name}_low"], row[f"{name}_high"] = value if isinstance(value, Sequence) else (None, None)
        elif name == "flags":
            row[name] = "; ".join(case["flags"])
        elif name != "runs":
            row[name] = value
    return row

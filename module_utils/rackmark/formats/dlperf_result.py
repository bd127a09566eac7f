"""dlperf_result.json: the numbers of a run in the form, and with the rounding, of DLPerf's result files."""

from __future__ import annotations

import statistics
from typing import Mapping, TypedDict

from ..numbers.summary_json import CaseSummary, Summary
from ..run.manifest import Manifest

BASE = "1n1g"  # DLPerf compares with nothing else


class _Case(TypedDict):
    average_speed: float
    batch_size_per_device: int | None
    median_speed: float
    speedup: float | None


DlperfResult = Mapping[str, Mapping[str, "_Case"]]


def dlperf_result(manifest: Manifest, summary: Summary) -> DlperfResult:
    """By model, then by case. Without a repeat of 1n1g that is ok the speedup is null."""
    speeds = {case["case"]: _speeds(case) for case in summary["cases"]}
    base = _median(speeds[BASE]) if speeds.get(BASE) else None
    cases: dict[str, _Case] = {
        case["case"]: {
            "average_speed": round(statistics.fmean(speeds[case["case"]]), 2),
            "batch_size_per_device": case["batch_per_device"],
            "median_speed": _median(speeds[case["case"]]),
            "speedup": round(_median(speeds[case["case"]]) / base, 2) if base else None,
        }
        for case in summary["cases"]
        if speeds[case["case"]]
    }
    return {manifest.dlperf_model or manifest.workload: cases}


def _speeds(case: CaseSummary) -> list[float]:
    return [round(run["throughput"], 2) for run in case["runs"] if run["throughput"] is not None]


def _median(speeds: list[float]) -> float:
    """DLPerf rounds medians as NumPy does, which is not what `round(median, 2)` gives halfway between two digits."""
    return round(statistics.median(speeds) * 100) / 100

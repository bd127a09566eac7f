"""The files of an analysis: the same as those of a run."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Mapping, NamedTuple, Sequence

from ..dialects.reading import ExtraTable
from ..judging.judge import Judged, Result
from ..report.dlperf_result import DlperfResult, dlperf_result
from ..report.junit import junit
from ..report.measurements import Measurements
from ..report.presentation import MISSING, aligned, or_missing, problems, table
from ..report.prometheus_text import prometheus_text
from ..report.report import report_files
from ..report.summary import Summary, summarize
from ..report.summary_files import json_bytes, summary_files
from ..run.manifest import SCHEMA
from .analysis import Analysis
from .judging import JudgedLogs


class Numbers(NamedTuple):
    judged: Sequence[Judged]
    measured: Mapping[str, Measurements]
    summary: Summary
    problems: Sequence[str]


class Outcome(NamedTuple):
    """`dialect` is its title, `recognised_by` the first line that only it has."""

    dialect: str
    recognised_by: str
    summary: Summary
    files: Mapping[str, bytes]
    table: Sequence[str]
    problems: Sequence[str]


def numbers(analysis: Analysis) -> Numbers:
    results = [one for repeats in analysis.judged.values() for one in repeats]
    judged = [Judged(_rounded(one) if _as_dlperf(analysis) else one.result, ()) for one in results]
    measured = {case: _measured(repeats) for case, repeats in analysis.judged.items()}
    summary = summarize(analysis.manifest, judged, measured)
    return Numbers(judged, measured, summary, [*problems(summary), *analysis.remarks])


def outcome(analysis: Analysis, templates: Path) -> Outcome:
    manifest = analysis.manifest
    judged, measured, summary, sentences = numbers(analysis)
    result = dlperf_result(manifest, summary)
    files = {
        **summary_files(summary, judged),
        "manifest.json": json_bytes({"schema": SCHEMA, **asdict(manifest)}),
        "dlperf_result.json": json_bytes(result),
        "metrics.prom": prometheus_text(summary),
        "junit.xml": junit(summary),
        **report_files(manifest, summary, measured, [], templates, _tables(analysis), analysis.remarks),
    }
    shown = _dlperf_table(result) if _as_dlperf(analysis) else table(summary).splitlines()
    return Outcome(manifest.title, str((manifest.logs or {}).get("recognised_by")), summary, files, shown, sentences)


def _as_dlperf(analysis: Analysis) -> bool:
    return (analysis.manifest.logs or {}).get("profile") == "dlperf"


def _rounded(one: JudgedLogs) -> Result:
    throughput = one.result.throughput
    return one.result if throughput is None else replace(one.result, throughput=round(throughput, 2))


def _measured(repeats: Sequence[JudgedLogs]) -> Measurements:
    of_ranks = [[rank.step_seconds for rank in one.ranks if rank.step_seconds] for one in repeats]
    means = [[math.fsum(steps) / len(steps) for steps in ranks] for ranks in of_ranks if ranks]
    losses: dict[int, list[float]] = defaultdict(list)
    for one in repeats:
        for rank in one.ranks:
            for step, loss in rank.losses:
                losses[step].append(loss)
    return Measurements(
        steps=[seconds for ranks in of_ranks for steps in ranks for seconds in steps],
        ranks=[median(of_one_rank) for of_one_rank in zip(*means)],
        losses=[(step, math.fsum(logged) / len(logged)) for step, logged in sorted(losses.items())],
    )


def _tables(analysis: Analysis) -> list[ExtraTable]:
    """Titled with the log they are from."""
    return [
        ExtraTable(f"{found.title}: {log.path}", found.headings, [list(map(_cell, row)) for row in found.rows])
        for log in analysis.logs
        for found in log.tables
    ]


def _cell(value: object) -> str:
    return MISSING if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _dlperf_table(result: DlperfResult) -> list[str]:
    """With the digits that DLPerf publishes."""
    headings = ("case", "batch/device", "average", "median", "speedup", "model")
    rows = [
        (
            case,
            or_missing(found["batch_size_per_device"], str),
            f"{found['average_speed']:.2f}",
            f"{found['median_speed']:.2f}",
            or_missing(found["speedup"], "{:.2f}".format),
            model,
        )
        for model, cases in result.items()
        for case, found in cases.items()
    ]
    return aligned(headings, rows)

"""The files of an analysis: the same as those of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence

from ..formats.dlperf_result import DlperfResult, dlperf_result
from ..formats.junit import junit
from ..formats.prometheus_text import prometheus_text
from ..formats.summary_files import json_bytes, summary_files
from ..judging.result import Judged, Result
from ..logs.reading import ExtraTable
from ..numbers.measurements import Measurements, measure
from ..numbers.sentences import problems
from ..numbers.summary import summarize
from ..numbers.summary_json import Summary
from ..numbers.words import MISSING, aligned, or_missing
from ..report.presentation import table
from ..report.report import report_files
from ..run.manifest import SCHEMA, spec_data
from .analysis import Analysis
from .mlperf_score import score_remarks


class Numbers(NamedTuple):
    judged: Sequence[Judged]
    measured: Mapping[str, Measurements]
    summary: Summary
    remarks: Sequence[str]
    problems: Sequence[str]


class Outcome(NamedTuple):
    """`dialect` is its title, `recognised_by` the first line that only it has. `is_whole` says whether every log of the
    tree is in a series."""

    dialect: str
    recognised_by: str
    summary: Summary
    files: Mapping[str, bytes]
    table: Sequence[str]
    problems: Sequence[str]
    is_whole: bool


def numbers(analysis: Analysis) -> Numbers:
    judged = [one for repeats in analysis.judged.values() for one in repeats]
    if _as_dlperf(analysis):
        judged = [replace(one, result=_rounded(one.result)) for one in judged]
    measured = measure(analysis.judged, judged)
    summary = summarize(analysis.manifest, judged, measured)
    remarks = [*analysis.refused, *score_remarks(analysis.manifest, summary), *analysis.remarks]
    return Numbers(judged, measured, summary, remarks, [*problems(summary), *remarks])


def outcome(analysis: Analysis, templates: Path) -> Outcome:
    manifest = analysis.manifest
    judged, measured, summary, remarks, sentences = numbers(analysis)
    result = dlperf_result(manifest, summary)
    files = {
        **summary_files(summary, judged),
        "manifest.json": json_bytes({"schema": SCHEMA, **spec_data(manifest)}),
        "dlperf_result.json": json_bytes(result),
        "metrics.prom": prometheus_text(summary),
        "junit.xml": junit(summary),
        **report_files(manifest, summary, measured, [], templates, _tables(analysis), remarks),
    }
    shown = _dlperf_table(result) if _as_dlperf(analysis) else table(summary).splitlines()
    why = str((manifest.logs or {}).get("recognised_by"))
    return Outcome(manifest.title, why, summary, files, shown, sentences, not analysis.refused)


def _as_dlperf(analysis: Analysis) -> bool:
    return (analysis.manifest.logs or {}).get("profile") == "dlperf"


def _rounded(result: Result) -> Result:
    return result if result.throughput is None else replace(result, throughput=round(result.throughput, 2))


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

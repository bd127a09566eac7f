"""What a person reads of a run: report.html, which needs nothing but itself, and the same facts in report.md."""

from __future__ import annotations

import base64
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from ..compare.hosts_table import hosts_table
from ..logs.reading import ExtraTable
from ..numbers import sentences, words
from ..numbers.measurements import Measurements
from ..numbers.summary_json import CaseSummary, Summary
from ..run.manifest import Manifest
from . import pages, presentation
from .method import method, simulated
from .method_of_logs import method_of_logs
from .pictures import Picture, pictures

if TYPE_CHECKING:  # they load the plotting library
    from .automl_report import Part
    from .telemetry_section import Section


def report_files(
    manifest: Manifest,
    summary: Summary,
    measured: Mapping[str, Measurements],
    hosts: Sequence[Mapping[str, Any]],
    templates: Path,
    tables: Sequence[ExtraTable] = (),
    remarks: Sequence[str] = (),
    telemetry: Section | None = None,
    searches: Sequence[Part] = (),
) -> Mapping[str, bytes]:
    """The report and its pictures, by file name. `tables` and `remarks` are what logs of other tools say beyond, and
    `searches` are the parts on searches for networks."""
    drawn, missing = pictures(summary, measured)
    all_drawn = [
        *drawn,
        *(telemetry.pictures if telemetry else ()),
        *(one for part in searches for one in part.pictures),
    ]
    content = {
        "manifest": manifest,
        "state": summary["state"],
        "headline": sentences.headline(summary),
        "simulated": simulated(summary),
        "result": _result(summary),
        "facts": _facts(manifest, summary),
        "scaling": presentation.scaling(summary),
        "details": presentation.details(summary),
        "missing": sentences.missing_numbers(summary),
        "pictures": drawn,
        "missing_pictures": missing,
        "tables": tables,
        "method": method_of_logs(manifest, summary) if manifest.logs else method(manifest, summary),
        "problems": sentences.problems(summary),
        "remarks": remarks,
        "hosts": hosts_table(hosts),
        "software": {name: words.or_missing(version, str) for name, version in manifest.software.items()},
        "telemetry": telemetry,
        "searches": searches,
        "embedded": embedded(all_drawn),
    }
    return {
        "report.html": pages.html(templates, "report.html.j2", content),
        "report.md": pages.plain(templates, "report.md.j2", content),
        **{picture.file: picture.content for picture in all_drawn},
    }


def embedded(drawn: Sequence[Picture]) -> Mapping[str, str]:
    return {picture.file: base64.b64encode(picture.content).decode() for picture in drawn}


def moment(text: str) -> str:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).strftime("%-d %B %Y, %H:%M:%S %Z")


def _result(summary: Summary) -> Sequence[tuple[str, str]]:
    """The largest case that has a number: what most readers came for."""
    measured = [(case["world_size"], case, case["median"]) for case in summary["cases"] if case["median"] is not None]
    if not measured:
        return []
    _, largest, median = max(measured, key=lambda entry: entry[0])
    return [
        (words.quantity(median), f"{summary['unit']} on {_size(largest)}"),
        *_compared(largest, summary["baseline"]),
    ]


def _compared(case: CaseSummary, baseline: str | None) -> Sequence[tuple[str, str]]:
    if case["case"] == baseline or case["speedup"] is None or case["efficiency"] is None:
        return []
    return [
        (words.factor(case["speedup"]), f"times the throughput of {baseline}"),
        (words.percent(case["efficiency"]), "scaling efficiency"),
    ]


def _size(case: CaseSummary) -> str:
    devices = words.counted(case["world_size"], "device")
    return f"{devices} in {words.counted(case['nodes'], 'node')}"


def _facts(manifest: Manifest, summary: Summary) -> Mapping[str, str]:
    if manifest.logs:
        return {
            "Analysis": manifest.run_id,
            "Workload": manifest.workload,
            "Logs": f"{words.counted(manifest.logs['files'], 'file')} in {manifest.logs['folder']}",
            "Dialect": f"{manifest.logs['dialect']} ({manifest.dialect})",
            "Recognised by": manifest.logs["recognised_by"],
        }
    last = summary["finished"]
    return {
        "Run": manifest.run_id,
        "Workload": f"{manifest.workload}, preset {manifest.preset}",
        "Framework": f"{manifest.framework} on {manifest.device}",
        "Started": moment(manifest.started),
        "Last step": moment(last) if last else f"{words.MISSING} (no step was logged)",
        "Command": manifest.command,
    }

"""The files that hold the numbers of a run, unrounded: summary.json, summary.csv and one result.json per repeat."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Mapping, Sequence

from ..judging.repeat import repeat_folder
from ..judging.result import Judged
from ..numbers.summary_json import CaseSummary, Summary


def summary_files(
    summary: Summary, judged: Sequence[Judged], telemetry: Sequence[Mapping[str, Any] | None] = ()
) -> Mapping[str, bytes]:
    """By their path in the folder of the run. `telemetry` is of the repeats in their order, if anything is known."""
    files = {"summary.json": json_bytes(summary), "summary.csv": _csv(summary)}
    for place, result in enumerate(one.result for one in judged):
        content = {"schema": "rackmark.result/1", **asdict(result)}
        if telemetry:
            content["telemetry"] = telemetry[place]
        files[f"{repeat_folder(Path(), result.case, result.repeat)}/result.json"] = json_bytes(content)
    return files


def json_bytes(content: object) -> bytes:
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
        name: summary[name]
        for name in ("run_id", "workload", "framework", "device", "headline", "unit", "scaling", "baseline")
    }
    for name, value in case.items():
        if name.endswith("ci95"):
            row[f"{name}_low"], row[f"{name}_high"] = value if isinstance(value, Sequence) else (None, None)
        elif name == "flags":
            row[name] = "; ".join(case["flags"])
        elif name not in ("runs", "measures"):
            row[name] = value
    for name, measure in case["measures"].items():
        if name != summary["headline"]:
            low, high = measure["ci95"] or (None, None)
            row.update({f"{name}_median": measure["median"], f"{name}_ci95_low": low, f"{name}_ci95_high": high})
    return row

"""What a person reads of a suite: one page with a row for every case of every run, and a table for the terminal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Sequence

from ..formats.summary_files import json_bytes
from ..numbers.summary_json import CaseSummary, Summary
from ..numbers.words import MISSING, aligned, counted, factor, interval, or_missing, percent, quantity
from ..run.suite import Suite
from . import pages
from .flagperf_table import HEADINGS as OF_FLAGPERF
from .flagperf_table import MEANING, FlagperfTable, flagperf_table
from .report import moment

SCHEMA = "rackmark.suite/1"
HEADINGS = ("run", "case", "ok/total", "measure", "median", "unit", "95 % interval", "speedup", "efficiency", "state")
_NUMBERS = ("median", "ci95", "speedup", "speedup_ci95", "efficiency", "efficiency_ci95")
_OTHERS = (
    *("precision", "e2e_s", "whole_median", "no_eval_median", "accuracy", "loss"),
    *("device_memory_mb", "device_memory_total_mb"),
)


@dataclass(frozen=True)
class ReportedRun:
    """`summary` is None where there is none: the run was not begun, or nothing of it was collected. `manifest` is what
    manifest.json holds. `report` leads to its own report from the suite's folder."""

    name: str
    run_id: str
    report: str
    summary: Summary | None
    manifest: Mapping[str, Any]

    @property
    def flagperf(self) -> FlagperfTable | None:
        return flagperf_table(self.summary, self.manifest) if self.summary else None


def reported_runs(suite: Suite, runs_dir: Path, suite_dir: Path) -> list[ReportedRun]:
    """With what was collected of them on this machine."""
    reported = []
    for run in suite.runs:
        folder = runs_dir / run.run_id
        summary: Summary | None = _content(folder / "summary.json") if run.run_id else None
        manifest = _content(folder / "manifest.json") if summary else None
        words = (
            [summary["workload"], summary["framework"]] if summary else [run.workload, run.asked.get("framework", "")]
        )
        relative = Path(*[".."] * 2, runs_dir.name) if runs_dir.parent == suite_dir.parents[1] else runs_dir
        name = " ".join(Path(word).name for word in words if word)
        reported.append(
            ReportedRun(name, run.run_id, str(relative / run.run_id / "report.html"), summary, manifest or {})
        )
    return reported


def state_of(runs: Sequence[ReportedRun]) -> str:
    states = [run.summary["state"] if run.summary else "failed" for run in runs]
    return "ok" if set(states) == {"ok"} else "partial" if {"ok", "partial"} & set(states) else "failed"


def suite_files(suite: Suite, runs: Sequence[ReportedRun], templates: Path) -> Mapping[str, bytes]:
    content = {
        "title": f"Suite {suite.suite_id}",
        "state": state_of(runs),
        "headline": headline(runs),
        "facts": {"Begun": moment(suite.started), "Runs": str(len(runs)), "Launcher": suite.launcher},
        "headings": HEADINGS,
        "runs": [(run, [_cells(case, run) for case in run.summary["cases"]] if run.summary else []) for run in runs],
        "table": (HEADINGS, rows(runs)),
        "flagperf": {
            "headings": OF_FLAGPERF,
            "tables": [table for run in runs if (table := run.flagperf)],
            "meaning": MEANING,
        },
        "problems": problems(runs),
    }
    return {
        "suite.json": json_bytes(_data(suite, runs)),
        "index.html": pages.html(templates, "suite.html.j2", content),
        "index.md": pages.plain(templates, "suite.md.j2", content),
    }


def headline(runs: Sequence[ReportedRun]) -> str:
    cases = [case for run in runs if run.summary for case in run.summary["cases"]]
    ok, asked = sum(case["repeats_ok"] for case in cases), sum(case["repeats_total"] for case in cases)
    return f"{state_of(runs)}: {counted(len(runs), 'run')}, {counted(len(cases), 'case')}, {ok} of {asked} repeats ok"


def terminal_table(runs: Sequence[ReportedRun]) -> list[str]:
    return aligned(HEADINGS, rows(runs), spare=("95 % interval", "efficiency", "ok/total"))


def rows(runs: Sequence[ReportedRun]) -> list[Sequence[str]]:
    """The name of a run stands in the first of its rows."""
    found: list[Sequence[str]] = []
    for run in runs:
        cells = [_cells(case, run) for case in run.summary["cases"]] if run.summary else [_empty()]
        found += [(run.name if place == 0 else "", *row) for place, row in enumerate(cells)]
    return found


def problems(runs: Sequence[ReportedRun]) -> list[str]:
    return [
        f"{run.name} ({run.run_id}) is {run.summary['state']}." if run.summary else f"{run.name} has no result."
        for run in runs
        if run.summary is None or run.summary["state"] != "ok"
    ]


def _cells(case: CaseSummary, run: ReportedRun) -> Sequence[str]:
    summary: Mapping[str, Any] = run.summary or {}
    return (
        case["case"],
        f"{case['repeats_ok']}/{case['repeats_total']}",
        summary.get("headline", "throughput"),
        or_missing(case["median"], quantity),
        summary["unit"],
        or_missing(case["ci95"], interval),
        or_missing(case["speedup"], factor),
        or_missing(case["efficiency"], percent),
        case["state"],
    )


def _empty() -> Sequence[str]:
    return (*[MISSING] * (len(HEADINGS) - 2), "failed")


def _content(path: Path) -> Any:  # noqa: ANN401
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def _data(suite: Suite, runs: Sequence[ReportedRun]) -> Mapping[str, Any]:
    return {
        "schema": SCHEMA,
        "suite_id": suite.suite_id,
        "started": suite.started,
        "state": state_of(runs),
        "runs": [_run_data(run) for run in runs],
    }


def _run_data(run: ReportedRun) -> Mapping[str, Any]:
    summary: Mapping[str, Any] = run.summary or {}
    known = ("workload", "framework", "state", "scaling", "baseline", "simulated", "unit")
    cases = [
        {
            **{name: case[name] for name in ("case", "state", "repeats_ok", "repeats_total", *_NUMBERS)},
            **{name: case.get(name) for name in _OTHERS},
        }
        for case in summary.get("cases", ())
    ]
    about = {name: summary.get(name) for name in known}
    return {"run_id": run.run_id, **about, "headline": summary.get("headline", "throughput"), "cases": cases}

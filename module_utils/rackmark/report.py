"""report.html: what a person reads of a run, in one file that needs nothing but itself."""

from __future__ import annotations

import base64
from datetime import datetime
from pathlib import Path
from typing import Mapping, Sequence

import jinja2

from . import presentation
from .manifest import Manifest
from .plots import speedup_plot, throughput_plot
from .summary import HIGHEST_PLAUSIBLE_EFFICIENCY, CaseSummary, Summary

TEMPLATE = "report.html.j2"

_SCALING = {
    "weak": "Weak scaling: every device gets the same batch, so the work grows with the number of devices.",
    "strong": "Strong scaling: the work of a step stays the same and is divided among the devices.",
}


def report_files(manifest: Manifest, summary: Summary, templates: Path) -> Mapping[str, bytes]:
    """The report and its pictures, by file name."""
    pictures = {"throughput.png": throughput_plot(summary), "speedup.png": speedup_plot(summary)}
    html = (
        _environment(templates)
        .get_template(TEMPLATE)
        .render(
            manifest=manifest,
            summary=summary,
            headline=presentation.headline(summary),
            result=_result(summary),
            facts=_facts(manifest, summary),
            headings=presentation.headings(summary),
            rows=[presentation.row(case) for case in summary["cases"]],
            missing=presentation.missing_numbers(summary),
            method=_method(manifest, summary),
            problems=presentation.problems(summary),
            hosts=_hosts(manifest),
            pictures={name: base64.b64encode(content).decode() for name, content in pictures.items()},
        )
    )
    return {"report.html": html.encode(), **pictures}


def _environment(templates: Path) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _result(summary: Summary) -> Sequence[tuple[str, str]]:
    """The largest case that has a number: what most readers came for."""
    measured = [case for case in summary["cases"] if case["median"] is not None]
    if not measured:
        return []
    largest = max(measured, key=lambda case: case["world_size"])
    return [
        (_median(largest), f"{summary['unit']} on {_size(largest)}"),
        *_compared(largest, summary["baseline"]),
    ]


def _median(case: CaseSummary) -> str:
    return presentation.MISSING if case["median"] is None else presentation.quantity(case["median"])


def _compared(case: CaseSummary, baseline: str | None) -> Sequence[tuple[str, str]]:
    if case["case"] == baseline or case["speedup"] is None or case["efficiency"] is None:
        return []
    return [
        (presentation.factor(case["speedup"]), f"times the throughput of {baseline}"),
        (presentation.percent(case["efficiency"]), "scaling efficiency"),
    ]


def _size(case: CaseSummary) -> str:
    devices = presentation.counted(case["world_size"], "device")
    return f"{devices} in {presentation.counted(case['nodes'], 'node')}"


def _facts(manifest: Manifest, summary: Summary) -> Mapping[str, str]:
    return {
        "Run": manifest.run_id,
        "Workload": f"{manifest.workload}, preset {manifest.preset}",
        "Framework": f"{manifest.framework} on {manifest.device}",
        "Started": _moment(manifest.started),
        "Last step": _moment(summary["finished"])
        if summary["finished"]
        else f"{presentation.MISSING} (no step was logged)",
        "Command": manifest.command,
    }


def _hosts(manifest: Manifest) -> Mapping[str, Sequence[Sequence[str]]]:
    """One column per fact that any host has; "memory_mb" reads as "memory mb"."""
    names = list(dict.fromkeys(name for host in manifest.hosts for name in host))
    return {
        "headings": [name.replace("_", " ") for name in names],
        "rows": [[str(host.get(name, presentation.MISSING)) for name in names] for host in manifest.hosts],
    }


def _moment(text: str) -> str:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).strftime("%-d %B %Y, %H:%M:%S %Z")


def _method(manifest: Manifest, summary: Summary) -> Sequence[str]:
    """How the numbers came about, one sentence or two per paragraph."""
    unit = summary["unit"]
    warmup = presentation.counted(manifest.warmup, "warm-up step")
    speedup = (
        f"Speedup is the median of a case over the median of {summary['baseline']}; efficiency is speedup over the"
        f" number of devices. Efficiency above {HIGHEST_PLAUSIBLE_EFFICIENCY * 100:.0f} % is flagged."
        if summary["baseline"]
        else "Speedup and efficiency need a case with one device that has a repeat that is ok; this run has none."
    )
    return [
        f"The throughput of a repeat is the number of samples that all ranks processed in {manifest.steps} steps,"
        f" divided by the time of the slowest rank for them. The {warmup} before are left out.",
        _SCALING.get(manifest.scaling, f"Scaling: {manifest.scaling}."),
        f"The {unit} of a case is the median over its repeats that are ok; the 95 % interval is Student's t about"
        " their mean. A repeat is ok only if its job completed, every rank ended well and logged every step, and the"
        " ranks, device, batch and precision were those asked for.",
        speedup,
    ]

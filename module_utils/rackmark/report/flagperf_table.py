"""The cases of a run as in a FlagPerf README, beside our own numbers: what is missing is n/a, with the reason."""

from __future__ import annotations

from statistics import median
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from ..numbers.summary_json import CaseSummary, Summary, values_of
from ..numbers.words import factor, interval, percent, quantity
from .method import simulated

THEIRS = ("configuration", "precision", "fix_hp", "e2e_time", "p_whole", "p_train", "p_core", "metric", "mem", "MFU")
OURS = ("95 % interval", "speedup", "efficiency")
HEADINGS = (*THEIRS, *OURS)
MEANING = (
    "e2e_time is in seconds, from the begin of the job to its end. mem is what the fullest device had in use, of all it"
    " has, in GiB. MFU is by FlagPerf's formula. The interval is that of p_core."
)
_GIB = 1024  # MiB
_NO_RATE = "Its logs do not tell this rate."


class Cell(NamedTuple):
    """Without a text it is missing, for that reason."""

    text: str | None
    reason: str = ""


class FlagperfTable(NamedTuple):
    """`notes` are the reasons that cells refer to by their number, and what makes numbers doubtful."""

    model: str
    unit: str
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]


def flagperf_table(summary: Summary, manifest: Mapping[str, Any]) -> FlagperfTable:
    """`manifest` is what manifest.json holds: the run as it was asked for."""
    rows = [_cells(case, summary, manifest) for case in summary["cases"]]
    reasons = list(dict.fromkeys(cell.reason for row in rows for cell in row if cell.text is None))
    numbers = {reason: number for number, reason in enumerate(reasons, start=1)}
    doubts = [f"{_configuration(case, manifest)}: {flag}." for case in summary["cases"] for flag in case["flags"]]
    return FlagperfTable(
        model=f"{_model(manifest) or summary['workload']} {summary['framework']}",
        unit=str(_measure(summary["cases"][0], "throughput").get("unit", summary["unit"])),
        rows=[[f"n/a ({numbers[cell.reason]})" if cell.text is None else cell.text for cell in row] for row in rows],
        notes=[
            *(f"({number}) {reason}" for reason, number in numbers.items()),
            *doubts,
            *([of_simulation] if (of_simulation := simulated(summary)) else []),
        ],
    )


def fix_hp(manifest: Mapping[str, Any]) -> str:
    """The settings that differ from those of the model's own preset, in FlagPerf's notation."""
    asked = manifest.get("asked") or {}
    changed = {"preset": asked.get("preset"), "bs": asked.get("batch"), "precision": asked.get("precision")}
    changed.update((manifest.get("conditions") or {}).get("benchmark_settings") or {})
    return ", ".join(f"{name}={value}" for name, value in changed.items() if value not in (None, "")) or "/"


def _cells(case: CaseSummary, summary: Summary, manifest: Mapping[str, Any]) -> list[Cell]:
    if not case["repeats_ok"]:
        missing = Cell(None, f"No repeat of {case['case']} is ok.")
        known = [_configuration(case, manifest), case["precision"], fix_hp(manifest)]
        return [*(Cell(text, "The run has no precision.") for text in known), *[missing] * (len(HEADINGS) - len(known))]
    e2e, p_core = _measure(case, "e2e_s").get("median") or case.get("e2e_s"), _measure(case, "throughput")
    bounds = p_core.get("ci95")
    no_baseline = f"There is nothing to compare with: {summary['no_baseline_because'] or 'its numbers are missing'}."
    return [
        Cell(_configuration(case, manifest)),
        Cell(case["precision"], "The run has no precision."),
        Cell(fix_hp(manifest)),
        _number(e2e, "The job left no record of its begin and end."),
        _number(case["whole_median"], _reason(case, "whole", _NO_RATE)),
        _number(case["no_eval_median"], _reason(case, "no_eval", _NO_RATE)),
        _number(_throughput(case), _reason(case, "throughput", _NO_RATE)),
        _metric(case, manifest),
        _memory(case, summary["device"]),
        _mfu(case),
        Cell(interval(bounds) if bounds else None, "An interval takes two repeats that are alike."),
        Cell(None if case["speedup"] is None else factor(case["speedup"]), no_baseline),
        Cell(None if case["efficiency"] is None else percent(case["efficiency"]), no_baseline),
    ]


def _configuration(case: CaseSummary, manifest: Mapping[str, Any]) -> str:
    """As in `A100 2x8`. The hardware is what case strings call it, which nobody has looked at, but for processors."""
    device = str(manifest.get("device", "")).upper()
    hardware = device if device == "CPU" else manifest.get("hardware") or device
    return f"{hardware} {case['nodes']}x{case['devices_per_node']}".strip()


def _metric(case: CaseSummary, manifest: Mapping[str, Any]) -> Cell:
    """The last value, over its target where there is one; what the target is of comes first."""
    aimed, _, target = str(manifest.get("target") or "").replace("<=", ">=").partition(" >= ")
    finals = {name: one["median"] for name, one in case.get("measures", {}).items() if name.startswith("final_")}
    known = {"accuracy": case["accuracy"], **finals, "loss": case["loss"]}
    for name in (aimed, *known):
        value = known.get(name)
        if value is not None:
            return Cell(f"{name} {value:.4g}{f'/{target}' if name == aimed else ''}")
    return Cell(None, "Its logs tell neither an accuracy nor a loss.")


def _memory(case: CaseSummary, device: str) -> Cell:
    if device == "cpu":
        return Cell(None, "It trained on processors, and the memory of a host is not that of a device.")
    used, total = case.get("device_memory_mb"), case.get("device_memory_total_mb")
    if used is None:
        return Cell(None, _reason(case, "device_memory_mb", "No telemetry tells the memory of the devices."))
    if total is None:
        return Cell(None, f"What a device has in all is not known; {used / _GIB:.1f} GiB were in use.")
    return Cell(f"{used / _GIB:.1f}/{total / _GIB:.0f}")


def _mfu(case: CaseSummary) -> Cell:
    """Workloads state it in percent, FlagPerf's own logs as a share."""
    found = _measure(case, "mfu_flagperf")
    value, of = found.get("median"), 1 if found.get("unit") == "%" else 100
    reason = _reason(case, "mfu_flagperf", "The workload states no MFU.")
    return Cell(None if value is None else f"{value * of:.1f}%", reason)


def _number(value: float | None, reason: str) -> Cell:
    return Cell(None if value is None else quantity(value), reason)


def _throughput(case: CaseSummary) -> float | None:
    """Of the ok repeats, also where the headline is another measure."""
    values = values_of(case, "throughput") or [rate for run in case["runs"] if (rate := run["throughput"])]
    return median(values) if values else None


def _measure(case: CaseSummary, name: str) -> Mapping[str, Any]:
    return case.get("measures", {}).get(name) or {}


def _reason(case: CaseSummary, name: str, otherwise: str) -> str:
    said: Iterable[str] = (run["missing"][name] for run in case["runs"] if name in (run.get("missing") or {}))
    return next(iter(said), otherwise)


def _model(manifest: Mapping[str, Any]) -> str | None:
    """As the case strings name it."""
    model, colon, _ = str((manifest.get("asked") or {}).get("cases") or "").partition(":")
    return model if colon else None

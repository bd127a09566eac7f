"""The tables of a summary, for the terminal and for the report."""

from __future__ import annotations

from typing import Literal, Mapping, Sequence

from ..numbers.sentences import missing_numbers
from ..numbers.summary_json import CaseSummary, Summary, measures_of
from ..numbers.words import (
    MISSING,
    aligned,
    duration,
    factor,
    interval,
    inverse,
    kilojoules,
    minutes,
    or_missing,
    percent,
    quantity,
    spread,
)

# Measures that have a column of their own, by what summary.json calls them in a case.
_SHOWN_ANYWAY: Mapping[str, Literal["whole_median", "no_eval_median", "loss", "accuracy", "time_to_train_s"]] = {
    "whole": "whole_median",
    "no_eval": "no_eval_median",
    "loss": "loss",
    "accuracy": "accuracy",
    "time_to_train": "time_to_train_s",
}


def scaling(summary: Summary) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The table of the cases, by what their logs measured: rates, times to train, both, or else what they
    state."""
    cases = summary["cases"]
    columns = {
        "case": [case["case"] for case in cases],
        "ranks": [str(case["world_size"]) for case in cases],
        "batch/device": [or_missing(case["batch_per_device"], str) for case in cases],
        "ok/total": [f"{case['repeats_ok']}/{case['repeats_total']}" for case in cases],
    }
    has_times = any(case["time_to_train_s"] is not None for case in cases)
    if has_times:
        columns["time to train, min"] = [or_missing(case["time_to_train_s"], minutes) for case in cases]
        columns["olympic, min"] = [or_missing(case["time_to_train_olympic_s"], minutes) for case in cases]
    has_rates = any(case["median"] is not None for case in cases)
    others = {} if has_times or has_rates else _other_measures(summary)
    columns.update((name, cells) for name, cells in others.items() if set(cells) != {MISSING})
    if has_rates or not (has_times or set(columns) & set(others)):
        columns[summary["unit"]] = [or_missing(case["median"], quantity) for case in cases]
        columns["95 % interval"] = [or_missing(case["ci95"], interval) for case in cases]
        columns["speedup"] = [or_missing(case["speedup"], factor) for case in cases]
        columns["efficiency"] = [or_missing(case["efficiency"], percent) for case in cases]
    columns["state"] = [case["state"] for case in cases]
    return list(columns), list(zip(*columns.values()))


def table(summary: Summary) -> str:
    """The scaling table for a terminal, followed by why a number in it is missing."""
    lines = aligned(*scaling(summary), spare=("batch/device", "ranks", "95 % interval", "efficiency", "speedup"))
    return "\n".join([*lines, *missing_numbers(summary)])


def _reached(case: CaseSummary) -> str | None:
    """Of the repeats of which that is known."""
    known = [run["converged"] for run in case["runs"] if run.get("converged") is not None]
    return f"{sum(map(bool, known))}/{len(known)}" if known else None


def details(summary: Summary) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The three views of the throughput and what else is known, without the columns that no case has a number for."""
    cases = summary["cases"]
    sample = summary["unit"].partition("/")[0].rstrip("s")
    columns = {
        "case": [case["case"] for case in cases],
        f"measured, {summary['unit']}": [or_missing(case["median"], quantity) for case in cases],
        "without evaluation": [or_missing(case["no_eval_median"], quantity) for case in cases],
        "whole": [or_missing(case["whole_median"], quantity) for case in cases],
        "step p50": [or_missing(case["step_seconds_p50"], duration) for case in cases],
        "p95": [or_missing(case["step_seconds_p95"], duration) for case in cases],
        "p99": [or_missing(case["step_seconds_p99"], duration) for case in cases],
        "slowest/fastest rank": [or_missing(case["rank_spread"], spread) for case in cases],
        "last loss": [or_missing(case["loss"], quantity) for case in cases],
        "accuracy": [or_missing(case["accuracy"], percent) for case in cases],
        "reached its target": [or_missing(_reached(case), str) for case in cases],
        "time to train, min": [or_missing(case["time_to_train_s"], minutes) for case in cases],
        "olympic mean, min": [or_missing(case["time_to_train_olympic_s"], minutes) for case in cases],
        "energy, kJ": [or_missing(case["energy_j"], kilojoules) for case in cases],
        f"J per {sample}": [or_missing(case["samples_per_j"], inverse) for case in cases],
    }
    columns.update(_other_measures(summary))
    known = {name: cells for name, cells in columns.items() if set(cells) != {MISSING}}
    return list(known), list(zip(*known.values()))


def _other_measures(summary: Summary) -> dict[str, list[str]]:
    """The medians of what is declared beside the headline and has no column anyway, by heading."""
    columns = {}
    for name, declared in measures_of(summary).items():
        medians = [case["measures"][name]["median"] for case in summary["cases"]]
        shown = _SHOWN_ANYWAY.get(name)
        if name == summary["headline"] or (shown and medians == [case[shown] for case in summary["cases"]]):
            continue
        columns[f"{name.replace('_', ' ')}, {declared.unit}"] = [or_missing(median, quantity) for median in medians]
    return columns

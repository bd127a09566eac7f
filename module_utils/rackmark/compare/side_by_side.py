"""Compares runs: how much each case differs, how sure that is, and what differs in how they were made."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Mapping, NamedTuple, Sequence, TypedDict

from ..numbers import estimates
from ..numbers.summary_json import CaseSummary, Summary, headline_of, measures_of, values_of
from ..run.manifest import Manifest
from .not_seen import not_seen
from .run_differences import Difference, differences

SCHEMA = "rackmark.comparison/1"
MOST_RUNS = 26  # each gets a letter


class RunToCompare(NamedTuple):
    manifest: Manifest
    summary: Summary
    hosts: Sequence[Mapping[str, Any]]


class Change(NamedTuple):
    """Of the median, and its 95 % interval, as fractions of the median before."""

    difference: float | None
    bounds: Sequence[float] | None


class CaseComparison(TypedDict):
    """`difference` and its interval are fractions of the first run's median. `measure` is null for the headline."""

    case: str
    measure: str | None
    unit: str
    run_id: str
    median: float | None
    base_median: float | None
    repeats_ok: int
    base_repeats_ok: int
    difference: float | None
    difference_ci95: Sequence[float] | None
    verdict: str


class Comparison(TypedDict):
    """`not_seen` is null where no case is compared."""

    schema: str
    base: str
    runs: Sequence[str]
    unit: str
    cases: Sequence[CaseComparison]
    not_in_common: Mapping[str, Sequence[str]]
    differences: Sequence[Difference]
    not_seen: str | None


def compare(runs: Sequence[RunToCompare]) -> Comparison:
    """Every run against the first one."""
    base, *others = runs
    if len(runs) > MOST_RUNS:
        raise ValueError(f"These are {len(runs)} runs: up to {MOST_RUNS} can be compared at a time.")
    _require_same_unit(runs)
    cases = _compare_cases(base.summary, others)
    return {
        "schema": SCHEMA,
        "base": base.manifest.run_id,
        "runs": [run.manifest.run_id for run in runs],
        "unit": base.summary["unit"],
        "cases": cases,
        "not_in_common": _not_in_common(runs),
        "differences": differences([(run.manifest, run.hosts) for run in runs]),
        "not_seen": not_seen([run.summary for run in runs], [run.hosts for run in runs]) if cases else None,
    }


def _compare_cases(base: Summary, others: Sequence[RunToCompare]) -> list[CaseComparison]:
    return [
        _compare_case(other, case, own, measure, base)
        for case in base["cases"]
        for measure in measures_of(base)
        for other in others
        for own in other.summary["cases"]
        if own["case"] == case["case"] and measure in measures_of(other.summary)
    ]


def _require_same_unit(runs: Sequence[RunToCompare]) -> None:
    for first, second in combinations(runs, 2):
        if first.summary["unit"] != second.summary["unit"]:
            raise ValueError(
                f"{first.manifest.run_id} measured {first.summary['unit']} and {second.manifest.run_id}"
                f" {second.summary['unit']}: only runs with the same unit can be compared."
            )


def _compare_case(
    other: RunToCompare, base: CaseSummary, own: CaseSummary, measure: str, base_summary: Summary
) -> CaseComparison:
    before, after = values_of(base, measure), values_of(own, measure)
    change = change_of_median(before, after)
    declared = measures_of(base_summary)[measure]
    return {
        "case": base["case"],
        "measure": None if measure == headline_of(base_summary) else measure,
        "unit": declared.unit,
        "run_id": other.manifest.run_id,
        "median": estimates.median(after),
        "base_median": estimates.median(before),
        "repeats_ok": len(after),
        "base_repeats_ok": len(before),
        "difference": change.difference,
        "difference_ci95": change.bounds,
        "verdict": _verdict(change.bounds, declared.better),
    }


def change_of_median(before: Sequence[float], after: Sequence[float]) -> Change:
    if before and after and estimates.median(before) == estimates.median(after) == 0:
        return Change(0.0, None)
    ratio, interval = estimates.ratio_of_medians(after, before), estimates.ratio_interval(after, before)
    return Change(ratio - 1 if ratio is not None else None, [interval.low - 1, interval.high - 1] if interval else None)


def _verdict(bounds: Sequence[float] | None, better: str) -> str:
    if bounds is None:
        return "undecided"
    low, high = bounds
    if low <= 0 <= high:
        return "same"
    return "better" if (low > 0) == (better == "higher") else "worse"


def _not_in_common(runs: Sequence[RunToCompare]) -> dict[str, list[str]]:
    """By run: its cases that at least one of the other runs lacks."""
    names = {run.manifest.run_id: [case["case"] for case in run.summary["cases"]] for run in runs}
    shared = set.intersection(*map(set, names.values()))
    left = {run_id: [case for case in cases if case not in shared] for run_id, cases in names.items()}
    return {run_id: cases for run_id, cases in left.items() if cases}

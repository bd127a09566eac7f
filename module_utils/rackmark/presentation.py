"""A summary in words: the same rounding and the same sentences on the terminal and in the report."""

from __future__ import annotations

from typing import Callable, Mapping, Sequence, TypeVar

from .summary import CaseSummary, Summary

_Value = TypeVar("_Value")

MISSING = "\N{EN DASH}"


def headings(summary: Summary) -> Sequence[str]:
    return (
        *("case", "ranks", "batch/device", "ok/total", summary["unit"]),
        *("95 % interval", "speedup", "efficiency", "state"),
    )


def row(case: CaseSummary) -> Sequence[str]:
    """The cells of one case, in the order of `headings`."""
    return (
        case["case"],
        str(case["world_size"]),
        str(case["batch_per_device"]),
        f"{case['repeats_ok']}/{case['repeats_total']}",
        _or_missing(case["median"], quantity),
        _or_missing(case["ci95"], interval),
        _or_missing(case["speedup"], factor),
        _or_missing(case["efficiency"], percent),
        case["state"],
    )


def table(summary: Summary) -> str:
    """The scaling table for a terminal, followed by why a number in it is missing."""
    rows = [headings(summary), *(row(case) for case in summary["cases"])]
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(rows[0]))]
    return "\n".join([*(_aligned(cells, widths) for cells in rows), *missing_numbers(summary)])


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Words to the left, which are the first and the last column, numbers to the right."""
    first, *numbers, last = cells
    padded = [number.rjust(width) for number, width in zip(numbers, widths[1:-1])]
    return "  ".join([first.ljust(widths[0]), *padded, last])


def quantity(value: float) -> str:
    """At least three digits that count; more would suggest a precision that no benchmark has."""
    size = abs(value)
    return f"{value:,.{0 if size >= 10000 else 1 if size >= 100 else 2 if size >= 10 else 3}f}"


def interval(bounds: Sequence[float]) -> str:
    low, high = bounds
    return f"{quantity(low)} \N{EN DASH} {quantity(high)}"


def factor(value: float) -> str:
    return f"{value:.2f}"


def percent(value: float) -> str:
    return f"{value * 100:.1f} %"


def _or_missing(value: _Value | None, words: Callable[[_Value], str]) -> str:
    return MISSING if value is None else words(value)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def headline(summary: Summary) -> str:
    total = sum(case["repeats_total"] for case in summary["cases"])
    good = sum(case["repeats_ok"] for case in summary["cases"])
    sentences: Mapping[str, str] = {
        "ok": f"Complete: {'the only repeat is' if total == 1 else f'all {total} repeats are'} ok.",
        "partial": f"Partial: {good} of {total} repeats {'is' if good == 1 else 'are'} ok.",
        "failed": f"Failed: {'the only repeat is not' if total == 1 else f'none of {total} repeats is'} ok.",
    }
    return sentences[summary["state"]]


def missing_numbers(summary: Summary) -> list[str]:
    """Why a number is missing, one sentence each."""
    cases = summary["cases"]
    sentences = []
    empty = [case["case"] for case in cases if case["repeats_ok"] == 0]
    if empty:
        sentences.append(f"No {summary['unit']} for {', '.join(empty)}: no repeat is ok.")
    single = [case["case"] for case in cases if case["repeats_ok"] == 1]
    if single:
        sentences.append(f"No 95 % interval for {', '.join(single)}: it takes at least two repeats that are ok.")
    if summary["baseline"] is None:
        alone = [case["case"] for case in cases if case["world_size"] == 1]
        why = f"no repeat of {alone[0]} is ok" if alone else "the run has no case with one device"
        sentences.append(f"No speedup and no efficiency: {why}, so there is nothing to compare with.")
    return sentences


def problems(summary: Summary) -> list[str]:
    """Everything that speaks against the run, one sentence each: repeats that are not ok, and doubtful numbers."""
    sentences = [
        f"{case['case']} repeat {run['repeat']} is {run['state']}: {run['reason']}"
        for case in summary["cases"]
        for run in case["runs"]
        if run["state"] != "ok"
    ]
    doubts = [
        f"{case['case']} has an {flag}: check the repeats of {summary['baseline']} before quoting it."
        for case in summary["cases"]
        for flag in case["flags"]
    ]
    return sentences + doubts

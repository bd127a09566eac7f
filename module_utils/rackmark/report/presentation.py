"""A summary in words: the same rounding and the same sentences on the terminal and in the report."""

from __future__ import annotations

from typing import Callable, Mapping, Sequence, TypeVar

from .olympic import olympic_mean_of
from .summary import IMPLAUSIBLE, CaseSummary, Summary

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
        or_missing(case["batch_per_device"], str),
        f"{case['repeats_ok']}/{case['repeats_total']}",
        or_missing(case["median"], quantity),
        or_missing(case["ci95"], interval),
        or_missing(case["speedup"], factor),
        or_missing(case["efficiency"], percent),
        case["state"],
    )


def table(summary: Summary) -> str:
    """The scaling table for a terminal, followed by why a number in it is missing."""
    return "\n".join([*aligned(headings(summary), [row(case) for case in summary["cases"]]), *missing_numbers(summary)])


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
        "time to train, min": [or_missing(case["time_to_train_s"], minutes) for case in cases],
        "olympic mean, min": [or_missing(case["time_to_train_olympic_s"], minutes) for case in cases],
        "energy, kJ": [or_missing(case["energy_j"], kilojoules) for case in cases],
        f"J per {sample}": [or_missing(case["samples_per_j"], inverse) for case in cases],
    }
    known = {name: cells for name, cells in columns.items() if set(cells) != {MISSING}}
    return list(known), list(zip(*known.values()))


def aligned(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [heading, *rows]
    widths = [max(len(cells[column]) for cells in lines) for column in range(len(heading))]
    return [_aligned(cells, widths) for cells in lines]


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


def signed(fraction: float) -> str:
    return f"{fraction * 100:+,.1f} %"


def signed_interval(bounds: Sequence[float]) -> str:
    low, high = bounds
    return f"{low * 100:+,.1f} to {high * 100:+,.1f} %"


def spread(value: float) -> str:
    return f"{value:.3f}"


def duration(seconds: float) -> str:
    """Three digits, in the unit that suits the size."""
    value, unit = (seconds, "s") if seconds >= 0.9995 else (seconds * 1000, "ms")
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"


def minutes(seconds: float) -> str:
    return quantity(seconds / 60)


def kilojoules(joules: float) -> str:
    return quantity(joules / 1000)


def inverse(value: float) -> str:
    return quantity(1 / value)


def listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def or_missing(value: _Value | None, words: Callable[[_Value], str]) -> str:
    return MISSING if value is None else words(value)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def headline(summary: Summary) -> str:
    """A run whose repeats are in different states says in which."""
    total = sum(case["repeats_total"] for case in summary["cases"])
    good = sum(case["repeats_ok"] for case in summary["cases"])
    if good == total:
        return f"Complete: {'the only repeat is' if total == 1 else f'all {total} repeats are'} ok."
    others = listed([f"{count} {state}" for state, count in summary["states"].items() if state != "ok"])
    if good == 0:
        return f"Failed: {'the only repeat is not' if total == 1 else f'none of {total} repeats is'} ok ({others})."
    return f"Partial: {good} of {total} repeats {'is' if good == 1 else 'are'} ok, the others are not ({others})."


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
    sentences += _no_olympic_mean(summary)
    if summary["baseline"] is None:
        why = summary["no_baseline_because"]
        sentences.append(f"No speedup and no efficiency: {why}, so there is nothing to compare with.")
    return sentences


def _no_olympic_mean(summary: Summary) -> list[str]:
    """MLPerf's result, of trainings that have a time; cases that lack it for the same reason share a sentence."""
    alike: dict[str, list[str]] = {}
    for case in summary["cases"]:
        reason = olympic_mean_of(summary["workload"], case["runs"]).reason
        if case["time_to_train_s"] is not None and reason is not None:
            alike.setdefault(reason, []).append(case["case"])
    return [
        f"No olympic mean of {', '.join(cases)}: {reason[0].lower()}{reason[1:]}" for reason, cases in alike.items()
    ]


def problems(summary: Summary) -> list[str]:
    """Everything that speaks against the run, one sentence each: what failed, is doubtful or took retries."""
    return [*_failures(summary), *_doubts(summary), *_retries(summary)]


def _failures(summary: Summary) -> list[str]:
    """Repeats that failed in the same way share a sentence."""
    alike: dict[tuple[str, str], dict[str, list[str]]] = {}
    for case in summary["cases"]:
        for run in case["runs"]:
            if run["state"] != "ok":
                same = alike.setdefault((run["state"], run["reason"] or "there is no reason known."), {})
                same.setdefault(case["case"], []).append(str(run["repeat"]))
    return [f"{_repeats(same)} {state}: {reason}" for (state, reason), same in alike.items()]


def _repeats(by_case: Mapping[str, Sequence[str]]) -> str:
    """1n1g repeat 2 is; 1n1g repeats 2 and 3 are; 1n1g repeat 2 and 4n8g repeats 1 and 2 are."""
    names = [f"{case} repeat{'s' if len(numbers) > 1 else ''} {listed(numbers)}" for case, numbers in by_case.items()]
    several = sum(len(numbers) for numbers in by_case.values()) > 1
    return f"{'; '.join(names)} {'are' if several else 'is'}"


def _doubts(summary: Summary) -> list[str]:
    return [_doubt(case["case"], flag, summary["baseline"]) for case in summary["cases"] for flag in case["flags"]]


def _doubt(case: str, flag: str, baseline: str | None) -> str:
    if flag == IMPLAUSIBLE:
        return f"{case} has an {flag}: check the repeats of {baseline} before quoting it."
    return f"{case} {flag}."


def _retries(summary: Summary) -> list[str]:
    return [
        f"{case['case']} repeat {run['repeat']} took {run['attempts']} attempts, of which only the last one counts."
        for case in summary["cases"]
        for run in case["runs"]
        if run["attempts"] > 1
    ]

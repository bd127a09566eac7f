"""What is to be said of a run: how it ended, which numbers are missing, and what speaks against those there are."""

from __future__ import annotations

from typing import Mapping, Sequence

from .olympic import olympic_mean_of
from .summary import IMPLAUSIBLE
from .summary_json import Run, Summary
from .words import listed


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
    apart = [case["case"] for case in cases if case["repeats_ok"] > 1 and case["median"] and case["ci95"] is None]
    if apart:
        cause = "the repeats are so far apart that it would span orders of magnitude"
        advice = "Look for what differs between them, and measure again."
        sentences.append(f"No 95 % interval for {', '.join(apart)}: {cause}. {advice}")
    sentences += [*_no_measure(summary), *_no_olympic_mean(summary)]
    if summary["baseline"] is None:
        why = summary["no_baseline_because"]
        sentences.append(f"No speedup and no efficiency: {why}, so there is nothing to compare with.")
    return sentences


def _no_measure(summary: Summary) -> list[str]:
    """Of ok repeats that lack a number that the workload declares; cases of which the same is to be said share one."""
    alike: dict[tuple[str, str], list[str]] = {}
    for case in summary["cases"]:
        for run in case["runs"]:
            for name, reason in run["missing"].items() if run["state"] == "ok" else ():
                alike.setdefault((name, reason), []).append(case["case"])
    return [f"No {name} for {', '.join(dict.fromkeys(cases))}: {reason}" for (name, reason), cases in alike.items()]


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


def _which_count(run: Run) -> str:
    if run["attempts_counted"] > 1:
        return "of which each went on where the one before had ended"
    return "of which only the last one counts"


def _retries(summary: Summary) -> list[str]:
    return [
        f"{case['case']} repeat {run['repeat']} took {run['attempts']} attempts, {_which_count(run)}."
        for case in summary["cases"]
        for run in case["runs"]
        if run["attempts"] > 1
    ]

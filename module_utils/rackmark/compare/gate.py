"""Holds a run against a baseline: no case may be worse by more than a tolerance."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any, Mapping, NamedTuple, Sequence, TypedDict

from ..numbers import estimates
from ..numbers.sentences import headline
from ..numbers.summary_json import CaseSummary, Declared, Summary, headline_of, measures_of, values_of
from ..numbers.words import aligned, counted, listed, or_missing, quantity, signed, signed_interval
from ..run.manifest import Manifest
from .not_seen import not_seen
from .run_differences import Difference, differences, not_the_same
from .side_by_side import Change, change_of_median

SCHEMA = "rackmark.gate/1"
_TIME = Declared("s to train", "lower")
_TIMES = ("minutes",)  # units of logs of other tools, of which less is better
_PERCENT = re.compile(r"(\d{1,2}(?:\.\d{1,6})?) ?%", re.ASCII)
_ROUNDING = 1e-9  # 97 instead of 100 is not more than 3 % less
# What makes the same training on the same machines faster brings a few percent, a new release of a framework perhaps
# twenty. Twice as much is a mistake that nobody has found yet, or another machine.
_PLAUSIBLE = 0.3
_NO_INTERVAL = "There is no interval, which takes two ok repeats on both sides that are not orders of magnitude apart"


class Measured(NamedTuple):
    """`manifest` and `hosts` are None and nothing where only the numbers are known."""

    summary: Summary
    manifest: Manifest | None
    hosts: Sequence[Mapping[str, Any]]


class GateCase(TypedDict):
    """`difference` and its interval are fractions of the baseline's median. Verdicts: passed, regression, implausible
    (too good to pass unseen), missing (from the run), undecided (nothing to hold it against). `reason` is null where a
    verdict needs no words, `measure` is null for the headline."""

    case: str
    measure: str | None
    better: str
    unit: str
    baseline_median: float | None
    median: float | None
    difference: float | None
    difference_ci95: Sequence[float] | None
    verdict: str
    reason: str | None


class Gate(TypedDict):
    """`problems` is what speaks against the run as a whole; `remarks` is what a reader should know besides."""

    schema: str
    baseline: str
    run: str
    tolerance: float
    passed: bool
    problems: Sequence[str]
    remarks: Sequence[str]
    cases: Sequence[GateCase]
    differences: Sequence[Difference]


def parse_tolerance(text: str) -> float:
    """3% is 0.03."""
    percent = _PERCENT.fullmatch(text.strip())
    if percent is None:
        raise ValueError(f"tolerance={text} is not a percentage from 0% to 99%: give one, as in tolerance=3%.")
    return float(percent[1]) / 100


def gate(baseline: Measured, run: Measured, tolerance: float) -> Gate:
    before, after = baseline.summary, run.summary
    if before["unit"] != after["unit"]:
        raise ValueError(
            f"{before['run_id']} measured {before['unit']} and {after['run_id']} {after['unit']}:"
            " only the same unit can be compared."
        )
    if not before["cases"]:
        raise ValueError(f"{before['run_id']} has no cases: there is nothing to hold a run against.")
    of_run = {case["case"]: case for case in after["cases"]}
    cases = [
        _gate_case(case, of_run.get(case["case"]), measure, before, tolerance)
        for case in before["cases"]
        for measure in measures_of(before)
    ]
    found = _differences(baseline, run)
    problems = _problems(before, after, found)
    return {
        "schema": SCHEMA,
        "baseline": before["run_id"],
        "run": after["run_id"],
        "tolerance": tolerance,
        "passed": not problems and all(case["verdict"] == "passed" for case in cases),
        "problems": problems,
        "remarks": _remarks(baseline, run, cases, found),
        "cases": cases,
        "differences": found,
    }


def _gate_case(
    base: CaseSummary, own: CaseSummary | None, measure: str, summary: Summary, tolerance: float
) -> GateCase:
    """Where the baseline has no number for its headline, the time to train is compared."""
    is_headline = measure == headline_of(summary)
    by_time = is_headline and not values_of(base, measure) and bool(_times(base))
    declared = _TIME if by_time else _as_declared(measures_of(summary)[measure])
    before, after = (
        [] if case is None else _times(case) if by_time else values_of(case, measure) for case in (base, own)
    )
    change = change_of_median(before, after)
    verdict, reason = (
        _without_numbers(base, own, before, after)
        or (_implausible(before, after, declared.better, tolerance) if is_headline else None)
        or _judge(change, declared.better, tolerance)
    )
    return {
        "case": base["case"],
        "measure": None if is_headline else measure,
        "better": declared.better,
        "unit": declared.unit,
        "baseline_median": estimates.median(before),
        "median": estimates.median(after),
        "difference": change.difference,
        "difference_ci95": change.bounds,
        "verdict": verdict,
        "reason": reason,
    }


def _as_declared(declared: Declared) -> Declared:
    return declared._replace(better="lower") if declared.unit in _TIMES else declared


def _times(case: CaseSummary) -> list[float]:
    times = [run.get("time_to_train_s") for run in case["runs"]]
    return [time for time in times if time is not None]


def _without_numbers(
    base: CaseSummary, own: CaseSummary | None, before: Sequence[float], after: Sequence[float]
) -> tuple[str, str] | None:
    if own is None:
        return "missing", "The run does not have this case."
    if not before:
        return "undecided", "No repeat of the baseline has a number: measure it again, or take another baseline."
    if not after:
        return (
            "missing",
            f"None of the run's repeats has a number ({counted(own['repeats_total'], 'repeat')} asked for).",
        )
    facts = {
        "batch per device": (base["batch_per_device"], own["batch_per_device"]),
        "precision": (base["precision"], own["precision"]),
    }
    other = [f"{name} {now} instead of {then}" for name, (then, now) in facts.items() if then != now]
    return ("undecided", f"The run measured something else: {listed(other)}.") if other else None


def _implausible(
    before: Sequence[float], after: Sequence[float], better: str, tolerance: float
) -> tuple[str, str] | None:
    """How many times as good by the headline: half of the time is twice as good."""
    ratio = estimates.ratio_of_medians(*((before, after) if better == "lower" else (after, before)))
    most = max(_PLAUSIBLE, tolerance)
    if ratio is None or ratio <= 1 + most + _ROUNDING:
        return None
    return (
        "implausible",
        f"The median is {ratio:.3g} times as good as the baseline's, and more than {1 + most:.3g} times is not believed"
        " unseen: look for what else was measured. If it is right, give this run as the baseline from now on, as in"
        " -e baseline=RUN.",
    )


def _judge(change: Change, better: str, tolerance: float) -> tuple[str, str | None]:
    """The medians decide, so that no gate hangs on the luck of an interval; what the interval says is added."""
    difference, bounds = change
    if difference is None:
        return "undecided", "A median is not above 0: there is no difference in percent."
    worse = 1 if better == "lower" else -1
    if difference * worse > tolerance + _ROUNDING:
        return "regression", " ".join([_too_far(difference, tolerance), _certainty(bounds)]).rstrip()
    if bounds is None:
        return "passed", f"{_NO_INTERVAL}: the medians alone decided."
    if max(bound * worse for bound in bounds) > tolerance + _ROUNDING:
        return "passed", "The interval reaches beyond the tolerance: more repeats would tell for sure."
    return "passed", None


def _too_far(difference: float, tolerance: float) -> str:
    side = "below" if difference < 0 else "above"
    far = f"{abs(difference) * 100:.2f} % {side} the baseline's"
    return f"The median is {far}, and the tolerance is {_percent(tolerance)}."


def _certainty(bounds: Sequence[float] | None) -> str:
    if bounds is None:
        return f"{_NO_INTERVAL}."
    if bounds[0] <= 0 <= bounds[1]:
        return "The interval holds 0: it may be chance, and more repeats would tell."
    return ""


def _differences(baseline: Measured, run: Measured) -> list[Difference]:
    if baseline.manifest is None or run.manifest is None:
        return []
    return differences(
        [
            (replace(baseline.manifest, run_id="baseline"), baseline.hosts),
            (replace(run.manifest, run_id="run"), run.hosts),
        ]
    )


def _problems(before: Summary, after: Summary, found: Sequence[Difference]) -> list[str]:
    incomplete = [] if after["state"] == "ok" else [f"The run is not ok. {headline(after)}"]
    other = not_the_same(found)
    if other is None and before["workload"] != after["workload"]:
        other = f"The run trained {after['workload']}, the baseline {before['workload']}."
    return [*incomplete, *([other] if other else [])]


def _remarks(baseline: Measured, run: Measured, cases: Sequence[GateCase], found: Sequence[Difference]) -> list[str]:
    known = {case["case"] for case in cases}
    new = [case["case"] for case in run.summary["cases"] if case["case"] not in known]
    less = list(dict.fromkeys(case["unit"] for case in cases if case["better"] == "lower"))
    besides = [each["what"] for each in found if not each["decisive"]]
    apart = not_seen([baseline.summary, run.summary], [baseline.hosts, run.hosts])
    bare = [measured.summary["run_id"] for measured in (baseline, run) if measured.manifest is None]
    return [
        *(f"Of {unit} less is better." for unit in less),
        *([f"The baseline is not ok. {headline(baseline.summary)}"] if baseline.summary["state"] != "ok" else []),
        *([f"Not in the baseline, and so not judged: {listed(new)}."] if new else []),
        *([f"Without manifest.json in {listed(bare)} settings and data may differ."] if bare else []),
        *([f"They also differ in {listed(besides)}."] if besides else []),
        *([apart] if any(case["difference"] is not None for case in cases) else []),
    ]


def verdict(result: Gate) -> str:
    """Failed: latest against v1 with a tolerance of 3 %: 1 passed and 1 regression."""
    limit = f"{result['run']} against {result['baseline']} with a tolerance of {_percent(result['tolerance'])}"
    counts = Counter(case["verdict"] for case in result["cases"])
    if result["passed"]:
        return f"Passed: {limit}, {counted(counts['passed'], 'case')}."
    words = [f"{count} {word}" for word, count in counts.items()]
    whole = " The run as a whole cannot pass." if result["problems"] else ""
    return f"Failed: {limit}: {listed(words)}.{whole}"


def in_words(case: GateCase) -> str:
    """4n1g is 90.00 samples/s, in the baseline 100.0: -10.0 % (-12.1 to -8.0 %)."""
    if case["difference"] is None:
        return f"{name_of(case)} is {case['verdict']}."
    own, base = (or_missing(median, quantity) for median in (case["median"], case["baseline_median"]))
    bounds = f" ({signed_interval(case['difference_ci95'])})" if case["difference_ci95"] else ""
    return f"{name_of(case)} is {own} {case['unit']}, in the baseline {base}: {signed(case['difference'])}{bounds}."


def name_of(case: GateCase) -> str:
    return case["case"] if case["measure"] is None else f"{case['case']} {case['measure']}"


def table(result: Gate) -> list[str]:
    """The cases for a terminal, then a sentence for each that needs one."""
    headings = ("case", "baseline", "run", "unit", "difference", "95 % interval", "verdict")
    rows = [
        (
            name_of(case),
            or_missing(case["baseline_median"], quantity),
            or_missing(case["median"], quantity),
            case["unit"],
            or_missing(case["difference"], signed),
            or_missing(case["difference_ci95"], signed_interval),
            case["verdict"],
        )
        for case in result["cases"]
    ]
    reasons = [f"{name_of(case)} {case['verdict']}: {case['reason']}" for case in result["cases"] if case["reason"]]
    return [*aligned(headings, rows, spare=("unit",)), *([""] if reasons else []), *reasons]


def _percent(fraction: float) -> str:
    return f"{fraction * 100:.10g} %"

"""metrics.prom: the numbers of a run for the textfile collector of Prometheus' node exporter."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any, Iterable, Iterator, Mapping, Sequence, Tuple

from ..node.states import BY_NAME
from ..numbers.summary_json import Summary

_STATES = ("ok", "partial", "failed")
_Labels = Mapping[str, str]
_Sample = Tuple[_Labels, "float | None"]

# Metric, its help, and the name of its number in the summary of a case.
_NUMBERS = (
    ("throughput", "Median of the headline over the ok repeats of a case, in the unit of the label.", "median"),
    ("throughput_whole", "Median throughput with warm-up, evaluations and checkpoints.", "whole_median"),
    ("throughput_no_eval", "Median throughput with warm-up and checkpoints, without evaluations.", "no_eval_median"),
    ("speedup", "Median throughput over that of the baseline.", "speedup"),
    ("efficiency_ratio", "Speedup over the ideal one.", "efficiency"),
    ("rank_spread_ratio", "Step time of the slowest rank over that of the fastest.", "rank_spread"),
    ("loss", "Training loss of the last step.", "loss"),
    ("accuracy_ratio", "Accuracy of the last evaluation.", "accuracy"),
    ("energy_joules", "Energy of the measured part of a repeat.", "energy_j"),
    ("samples_per_joule", "Samples of the measured part over its energy.", "samples_per_j"),
)
_INTERVALS = (
    ("throughput_ci95", "Bounds of the 95 % interval of the median throughput.", "ci95"),
    ("speedup_ci95", "Bounds of the 95 % interval of the speedup.", "speedup_ci95"),
    ("efficiency_ratio_ci95", "Bounds of the 95 % interval of the efficiency.", "efficiency_ci95"),
)
_ENDS = ((0, "low"), (1, "high"))
# Not "quantile": Prometheus keeps that name for the parts of a summary, which has a sum and a count too.
_PERCENTILES = {"50": "step_seconds_p50", "95": "step_seconds_p95", "99": "step_seconds_p99"}


def prometheus_text(summary: Summary) -> bytes:
    metrics = [*_of_run(summary), *_of_cases(summary)]
    return "".join(line for name, about, samples in metrics for line in _lines(name, about, samples)).encode()


def _of_run(summary: Summary) -> Iterator[tuple[str, str, list[_Sample]]]:
    run = _labels(summary)
    states: list[_Sample] = [({**run, "state": name}, int(name == summary["state"])) for name in _STATES]
    yield "state", "1 for the state of the run, 0 for the others.", states
    simulated: list[_Sample] = [({**run, "what": what}, 1) for what in summary["simulated"]]
    yield "simulated", "1 for each thing of the run that was simulated.", simulated
    times: list[_Sample] = [(run, _seconds(summary["started"]))]
    yield "started_timestamp_seconds", "When the run was begun.", times
    last: list[_Sample] = [(run, _seconds(summary["finished"]))]
    yield "last_step_timestamp_seconds", "When the last step of the run was logged.", last


def _seconds(moment: str | None) -> float | None:
    return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp() if moment else None


def _of_cases(summary: Summary) -> Iterator[tuple[str, str, list[_Sample]]]:
    cases: list[tuple[Mapping[str, Any], _Labels]] = [
        (case, {**_labels(summary), "case": case["case"]}) for case in summary["cases"]
    ]
    counts = [(own, Counter(run["state"] for run in case["runs"])) for case, own in cases]
    repeats: list[_Sample] = [
        ({**own, "state": state}, count)
        for own, states in counts
        # One that nothing is in has a 0: Prometheus would go on with what it had before the run was resumed.
        for state, count in {**dict.fromkeys(BY_NAME, 0), **states}.items()
    ]
    yield "repeats", "Repeats of a case by state.", repeats
    for name, about, key in _NUMBERS:
        yield name, about, [(_with_unit(own, name, summary), case[key]) for case, own in cases]
    for name, about, key in _INTERVALS:
        bounds = [(_with_unit(own, name, summary), case[key] or (None, None)) for case, own in cases]
        yield name, about, [({**own, "bound": end}, both[place]) for own, both in bounds for place, end in _ENDS]
    yield from _of_measures(cases)
    steps: list[_Sample] = [
        ({**own, "percentile": share}, case[key]) for case, own in cases for share, key in _PERCENTILES.items()
    ]
    yield "step_seconds", "Percentiles of the time of a measured step.", steps


def _of_measures(
    cases: Sequence[tuple[Mapping[str, Any], _Labels]],
) -> Iterator[tuple[str, str, list[_Sample]]]:
    """Whatever a workload declares, by name."""
    measures = [
        ({**own, "measure": name, "unit": measure["unit"], "better": measure["better"]}, measure)
        for case, own in cases
        for name, measure in case["measures"].items()
    ]
    yield "measure", "Median of a measure that the workload declares.", [(own, one["median"]) for own, one in measures]
    bounds: list[_Sample] = [
        ({**own, "bound": end}, (one["ci95"] or (None, None))[place]) for own, one in measures for place, end in _ENDS
    ]
    yield "measure_ci95", "Bounds of the 95 % interval of the median of a measure.", bounds


def _labels(summary: Summary) -> dict[str, str]:
    return {
        "run_id": summary["run_id"],
        "workload": summary["workload"],
        "framework": summary["framework"],
        "device": summary["device"],
    }


def _with_unit(labels: _Labels, name: str, summary: Summary) -> _Labels:
    if name.startswith("throughput"):
        return {**labels, "unit": summary["unit"]}
    if name.startswith(("speedup", "efficiency")):
        return {**labels, "baseline": summary["baseline"] or ""}
    return labels


def _lines(name: str, about: str, samples: Sequence[_Sample]) -> Iterable[str]:
    """A number that is missing has no sample: a zero would be taken for one."""
    known = [(labels, value) for labels, value in samples if value is not None]
    if not known:
        return []
    full = f"rackmark_benchmark_{name}"
    head = [f"# HELP {full} {about}\n", f"# TYPE {full} gauge\n"]
    return [*head, *(f"{full}{{{_inside(labels)}}} {value!r}\n" for labels, value in known)]


def _inside(labels: _Labels) -> str:
    return ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

"""The shape of summary.json: the numbers of a run by case, and those of every repeat."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence, TypedDict

SCHEMA = "rackmark.summary/1"


class Run(TypedDict):
    """A repeat, whose job `began` then, in seconds since 1970. `measures` are the numbers that the workload declares,
    `missing` says why of those that are null, `doubts` what speaks against the repeat though it is ok."""

    repeat: int
    state: str
    throughput: float | None
    whole: float | None
    no_eval: float | None
    loss: float | None
    accuracy: float | None
    time_to_train_s: float | None
    time_to_train_scaling: float | None
    converged: bool | None
    energy_j: float | None
    samples_per_j: float | None
    energy_of: str | None
    began: float | None
    e2e_s: float | None
    device_memory_mb: float | None
    device_memory_total_mb: float | None
    attempts: int
    attempts_counted: int
    reason: str | None
    measures: Mapping[str, float | None]
    missing: Mapping[str, str]
    doubts: list[str]


class MeasureSummary(TypedDict):
    unit: str
    better: str
    median: float | None
    mean: float | None
    ci95: Sequence[float] | None
    values: list[float]


class CaseSummary(TypedDict):
    """`mean`, `median` and `ci95` are those of the headline, of which speedup and efficiency are made.
    `time_to_train_scaling` is in the olympic mean, and in no other time."""

    case: str
    nodes: int
    devices_per_node: int
    world_size: int
    batch_per_device: int | None
    precision: str | None
    state: str
    repeats_ok: int
    repeats_total: int
    runs: list[Run]
    mean: float | None
    median: float | None
    ci95: Sequence[float] | None
    speedup: float | None
    speedup_ci95: Sequence[float] | None
    efficiency: float | None
    efficiency_ci95: Sequence[float] | None
    whole_median: float | None
    no_eval_median: float | None
    step_seconds_p50: float | None
    step_seconds_p95: float | None
    step_seconds_p99: float | None
    rank_spread: float | None
    loss: float | None
    accuracy: float | None
    time_to_train_s: float | None
    time_to_train_olympic_s: float | None
    time_to_train_scaling: float | None
    energy_j: float | None
    samples_per_j: float | None
    energy_of: str | None
    e2e_s: float | None
    device_memory_mb: float | None
    device_memory_total_mb: float | None
    measures: Mapping[str, MeasureSummary]
    flags: list[str]


class Summary(TypedDict):
    """`unit` is that of the headline."""

    schema: str
    run_id: str
    workload: str
    framework: str
    headline: str
    unit: str
    device: str
    state: str
    states: Mapping[str, int]
    baseline: str | None
    no_baseline_because: str | None
    scaling: str
    simulated: list[str]
    started: str
    finished: str | None
    cases: list[CaseSummary]


def values_of(case: Mapping[str, Any], measure: str) -> list[float]:
    """What the ok repeats of a case measured. Summaries of earlier versions have the throughput alone."""
    values = [(run.get("measures") or {"throughput": run.get("throughput")}).get(measure) for run in case["runs"]]
    return [value for value in values if value is not None]


def headline_of(summary: Mapping[str, Any]) -> str:
    return str(summary.get("headline", "throughput"))


class Declared(NamedTuple):
    unit: str
    better: str


def measures_of(summary: Mapping[str, Any]) -> Mapping[str, Declared]:
    """The headline first. Summaries of earlier versions have the throughput alone."""
    headline = headline_of(summary)
    found = {headline: Declared(str(summary["unit"]), "higher")}
    for case in summary["cases"]:
        for name, one in case.get("measures", {}).items():
            found[name] = Declared(str(one["unit"]), str(one["better"]))
    return found

"""Benchmark runs: how throughput and scaling went over time, and each run with its time on other dashboards."""

from __future__ import annotations

from . import links
from .dashboard import Dashboard, Variable
from .layout import Section
from .meanings import GREEN, ORANGE, RED, YELLOW, thresholds, words
from .panels import Panel, Target, stat, timeseries
from .tables import Column, table

_RUN = 'workload=~"$workload"'
_CASE = 'workload=~"$workload", case=~"$case"'
_NOT_OK = f'state!="ok", {_RUN}'
_OK_REPEATS = f'state="ok", {_CASE}'
_OF_RUN = "run_id, workload, framework, device"
_OF_CASE = f"{_OF_RUN}, case"
_MEASURE = f'{_CASE}, measure=~"$measure"'
_SERIES = "workload, framework, device, case"
_LEGEND = "{{workload}} {{framework}} {{device}} {{case}}"
_EFFICIENCY = thresholds(RED, (0.7, YELLOW), (0.85, GREEN))


def dashboard(cluster_name: str) -> Dashboard:
    return Dashboard(
        uid=links.RUNS,
        title=f"{cluster_name}: runs",
        description="Did it get faster or slower, how well does it scale, and what happened during a run?",
        variables=[
            Variable("workload", "Workload", "rackmark_benchmark_state", "workload"),
            Variable("case", "Case", 'rackmark_benchmark_repeats{workload=~"$workload"}', "case"),
            Variable("measure", "Measure", 'rackmark_benchmark_measure{workload=~"$workload"}', "measure"),
        ],
        sections=[
            Section("Runs in the time range", [*_counts(), _runs()]),
            Section("Searches that run", _searches()),
            Section("Better or worse?", _history()),
            Section("What slowed it down?", _causes()),
        ],
        time_from="now-30d",
        refresh="5m",
    )


def _last(metric: str, chosen: str) -> str:
    """The value of each run of the time range: only the last run of a workload is scraped at a time."""
    return f"last_over_time(rackmark_benchmark_{metric}{{{chosen}}}[$__range])"


def _counts() -> list[Panel]:
    state = _last("state", _RUN)
    return [
        stat(
            "Runs",
            "Runs that were the last of their workload and framework at some time in the range.",
            "none",
            Target(f"count(count by (run_id) ({state}))"),
            width=4,
        ),
        stat(
            "Not wholly good",
            "Runs with a repeat that does not count, or without any that does.",
            "none",
            Target(f"sum({_last('state', _NOT_OK)})"),
            levels=thresholds(GREEN, (1, YELLOW)),
            width=4,
        ),
        stat(
            "With something simulated",
            "Runs of which a part was simulated: their numbers say nothing about hardware.",
            "none",
            Target(f"count(count by (run_id) ({_last('simulated', _RUN)})) or 0 * count({state})"),
            levels=thresholds(GREEN, (1, ORANGE)),
            width=4,
        ),
        stat(
            "Workloads",
            "Workloads that were measured in the time range.",
            "none",
            Target(f"count(count by (workload) ({state}))"),
            width=4,
        ),
        stat(
            "Worst efficiency",
            "The lowest speedup over the ideal one: how the largest cases scale.",
            "percentunit",
            Target(f"min({_last('efficiency_ratio', _CASE)})"),
            levels=_EFFICIENCY,
            width=4,
        ),
        stat(
            "Since the last step",
            "Time since a step of the newest run was logged.",
            "s",
            Target(f"time() - max({_last('last_step_timestamp_seconds', _RUN)})"),
            width=4,
        ),
    ]


def _runs() -> Panel:
    cases = f"sum by ({_OF_CASE}) ({_last('repeats', _CASE)})"
    during = links.time_of_row("start", "end")
    return table(
        "Runs",
        "A row for each case of each run. A click on the run opens the nodes or the accelerators over exactly its time."
        " Empty throughput: no repeat of the case counts.",
        [
            Target(f"max by ({_OF_CASE}, unit) ({_last('throughput', _CASE)})"),
            Target(f"max by ({_OF_CASE}) ({_last('efficiency_ratio', _CASE)})"),
            Target(f"sum by ({_OF_CASE}) ({_last('repeats', _OK_REPEATS)})"),
            Target(cases),
            Target(_to_cases(cases, f"({_last('state', _RUN)} == 1)", f"{_OF_RUN}, state", "state")),
            Target(_to_cases(cases, _milliseconds("started_timestamp_seconds"), _OF_RUN)),
            Target(_to_cases(cases, _milliseconds("last_step_timestamp_seconds"), _OF_RUN)),
            Target(f"{_to_cases(cases, _last('simulated', _RUN), _OF_RUN)} or 0 * {cases}"),
        ],
        [
            Column("run", "run_id", links=during, width=280),
            Column("workload", "workload"),
            Column("framework", "framework"),
            Column("device", "device"),
            Column("case", "case"),
            Column("throughput", 0),
            Column("unit", "unit"),
            Column("efficiency", 1, unit="percentunit", thresholds=_EFFICIENCY),
            Column("repeats ok", 2),
            Column("repeats", 3),
            Column("state", "state"),
            Column("start", 5, unit="dateTimeAsIso", width=170, links=during),
            Column("end", 6, unit="dateTimeAsIso", width=170, links=during),
            Column("simulated", 7, mappings=[_SIMULATED]),
        ],
        sort_by="start",
        descending=True,
        width=24,
        height=10,
    )


_SIMULATED = words({0: ("no", GREEN), 1: ("yes", ORANGE)})


def _milliseconds(metric: str) -> str:
    return f"round(1000 * {_last(metric, _RUN)})"


def _to_cases(cases: str, of_run: str, labels: str, handed_on: str = "") -> str:
    """What is known of a whole run, repeated for each of its cases, so that all columns have the same rows."""
    return f"0 * {cases} + on ({_OF_RUN}) group_left ({handed_on}) max by ({labels}) ({of_run})"


_PROGRESS = 'rackmark_slurm_search_progress{measure=~"%s"}'
_OF_SEARCH = "{{run_id}} {{case}} r{{repeat}}"
_NO_SEARCH = "no search runs"


def _searches() -> list[Panel]:
    """By what their jobs say in Slurm while they run."""
    return [
        timeseries(
            "Trials",
            "Trials that have ended by themselves, that failed, and that are at work now.",
            "none",
            Target(_PROGRESS % "trials|failed|running", _OF_SEARCH + " {{measure}}", may_be_empty=_NO_SEARCH),
            width=8,
        ),
        timeseries(
            "Best accuracy",
            "The best that any trial has measured so far.",
            "percentunit",
            Target(_PROGRESS % "best", _OF_SEARCH, may_be_empty=_NO_SEARCH),
            width=8,
        ),
        timeseries(
            "GFLOPS",
            "Operations of all finished epochs over the time since the first trial began; regulated by accuracy.",
            "none",
            Target(_PROGRESS % "gflops|regulated", _OF_SEARCH + " {{measure}}", may_be_empty=_NO_SEARCH),
            width=8,
        ),
    ]


def _history() -> list[Panel]:
    return [
        timeseries(
            "Throughput",
            "Median of the last run of each case, which holds until the next run: a step is a change. Where a workload"
            " has another headline, this is it.",
            "short",
            Target(f"max by ({_SERIES}, unit) (rackmark_benchmark_throughput{{{_CASE}}})", _LEGEND + " ({{unit}})"),
            steps=True,
            width=24,
        ),
        timeseries(
            "Measures",
            "Median of each measure that the workload declares, in the last run of each case, the headline among them.",
            "short",
            Target(
                f"max by ({_SERIES}, measure, unit) (rackmark_benchmark_measure{{{_MEASURE}}})",
                _LEGEND + " {{measure}} ({{unit}})",
            ),
            steps=True,
            width=24,
        ),
        timeseries(
            "Efficiency",
            "Speedup over the ideal one: 100 % is a cluster that loses nothing. Cases without a baseline have none.",
            "percentunit",
            Target(f"max by ({_SERIES}) (rackmark_benchmark_efficiency_ratio{{{_CASE}}})", _LEGEND),
            steps=True,
        ),
        timeseries(
            "Speedup",
            "Median throughput over that of the baseline of the same run.",
            "none",
            Target(f"max by ({_SERIES}) (rackmark_benchmark_speedup{{{_CASE}}})", _LEGEND),
            steps=True,
        ),
    ]


def _causes() -> list[Panel]:
    return [
        timeseries(
            "Time of a step",
            "Half of the steps took less than p50, one of a hundred more than p99. Far apart: something interrupts.",
            "s",
            Target(
                f'max by ({_SERIES}, percentile) (rackmark_benchmark_step_seconds{{percentile=~"50|99", {_CASE}}})',
                _LEGEND + " p{{percentile}}",
            ),
            steps=True,
            width=8,
        ),
        timeseries(
            "Slowest rank over the fastest",
            "By their step time. Above 1.05 a node or a device holds up the others.",
            "none",
            Target(
                f"max by ({_SERIES}) (rackmark_benchmark_rank_spread_ratio{{{_CASE}}})",
                _LEGEND,
                may_be_empty="cases of a single rank have nobody to compare with",
            ),
            minimum=None,
            steps=True,
            width=8,
        ),
        timeseries(
            "Repeats that do not count",
            "Repeats of the last run that are not ok, by what happened to them.",
            "none",
            Target(
                f'sum by ({_SERIES}, state) (rackmark_benchmark_repeats{{state!="ok", {_CASE}}}) > 0'
                f" or 0 * sum by ({_SERIES}) (rackmark_benchmark_repeats{{{_CASE}}})",
                _LEGEND + " {{state}}",
            ),
            steps=True,
            width=8,
        ),
    ]

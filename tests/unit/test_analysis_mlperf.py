"""What an analysis says of MLPerf's logs."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest
from rackmark.numbers.olympic import olympic_mean_of
from shared_data import shared
from unit.log_fixture import numbers_of, outcome_of, write
from unit.mlperf_fixture import LOG, START, event, head, lines


def without_rate(benchmark: str, seconds: float = 420.123) -> str:
    stop = event("run_stop", round(1000 * seconds), status="success")
    return lines(*head(benchmark), *START, event("epoch_start", 0, epoch_num=0), stop)


NO_RATE = without_rate("bert")


def test_a_series_without_samples_per_second_is_reported_by_its_times(tmp_path: Path) -> None:
    """Half of MLPerf's logs do not say how many samples were trained when."""
    logs = {f"{case}xR750x4A100/result_{k}.txt": f"run {case} {k}\n{NO_RATE}" for case in (1, 2) for k in range(5)}
    found = outcome_of(write(tmp_path / "logs", logs))
    assert found.summary["state"] == "ok"
    assert [case["time_to_train_s"] for case in found.summary["cases"]] == [420.123] * 2
    report = found.files["report.md"].decode()
    assert "throughput.png" not in found.files
    assert "No picture of the throughput of each case: no repeat that is ok has samples/s." in report


def test_a_case_without_a_rate_stands_beside_one_that_has_it(tmp_path: Path) -> None:
    silent = "".join(line for line in LOG.splitlines(True) if "global_batch" not in line)
    logs = {"1xR750x4A100/result_0.txt": silent, "2xR750x4A100/result_0.txt": LOG}
    found = outcome_of(write(tmp_path / "logs", {f"resnet/{name}": log for name, log in logs.items()}))
    assert found.summary["state"] == "ok"


@pytest.mark.parametrize(("scaling", "factor"), [({"scaling_factor": 1.25}, 1.25), (None, 1), ({}, 1), ([3], 1)])
def test_the_result_is_scaled_by_what_lies_beside_the_logs_or_called_unscaled(
    tmp_path: Path, scaling: object, factor: float
) -> None:
    logs = {f"2xR750x4A100/bert/result_{k}.txt": without_rate("bert", 100 + k) for k in range(10)}
    if scaling is not None:
        logs["2xR750x4A100/bert/scaling.json"] = json.dumps(scaling)
    found = outcome_of(write(tmp_path / "logs", logs))
    (case,) = found.summary["cases"]
    assert (case["time_to_train_s"], case["time_to_train_olympic_s"]) == (104.5, pytest.approx(104.5 * factor))
    said = "1.25 times that of the logs, as the scaling.json" if factor > 1 else "2n4g is unscaled"
    assert [said in problem for problem in found.problems if "olympic mean" in problem] == [True]
    assert said in found.files["report.md"].decode()


def test_the_table_of_logs_without_a_rate_shows_their_times(tmp_path: Path) -> None:
    logs = {f"2xR750x4A100/result_{k}.txt": without_rate("bert", 600 + k) for k in range(2)}
    head_line, row = outcome_of(write(tmp_path / "logs", logs)).table[:2]
    assert "time to train, min" in head_line and "samples/s" not in head_line
    assert "10.0" in row


@pytest.mark.parametrize(
    ("benchmark", "runs", "left_out"),
    [("resnet", 5, 1), ("dlrm", 5, 1), ("retinanet", 5, 1), ("minigo", 10, 1), ("rnnt", 10, 1), ("dlrm_dcnv2", 10, 1),
     ("gpt3", 3, 1), ("llama31_405b", 3, 1), ("rgat", 10, 1), ("unet3d", 40, 4)],
)  # fmt: skip
def test_every_benchmark_has_its_number_of_runs(benchmark: str, runs: int, left_out: int) -> None:
    times = [float(7 * k % 41) + 10 for k in range(runs)]
    repeats = [{"repeat": k, "time_to_train_s": time, "state": "ok"} for k, time in enumerate(times)]
    expected = fmean(sorted(times)[left_out : runs - left_out])
    assert olympic_mean_of(benchmark, repeats).seconds == pytest.approx(expected)
    assert f"takes {runs} runs" in (olympic_mean_of(benchmark, repeats[1:]).reason or "")


@pytest.mark.parametrize(("system", "left_out"), [("v4.0/Dell", 4), ("v4.1/Dell", 1)])
def test_published_results_are_scaled(system: str, left_out: int) -> None:
    benchmark = {4: "unet3d", 1: "llama2_70b_lora"}[left_out]
    system = f"{system}/results/XE9680x8H100-SXM-80GB/{benchmark}"
    expected = json.loads((shared("mlperf-more") / "expected.json").read_text())
    runs = [run for name, run in expected.items() if name.startswith(system)]
    times = sorted(run["seconds_run_start_to_run_stop"] for run in runs)
    (case,) = numbers_of(shared("mlperf-more") / system).summary["cases"]
    mean = fmean(times[left_out : len(times) - left_out])
    assert case["time_to_train_olympic_s"] == pytest.approx(mean * runs[0]["scaling_factor"])

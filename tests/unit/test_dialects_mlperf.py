"""MLPerf's MLLOG lines, where its results lie, and the olympic mean of several runs."""

from __future__ import annotations

import json
import math
from pathlib import Path, PurePath
from typing import Any

import pytest
from dialect_fixture import read
from rackmark.dialects import ais_bench, flagperf, mlperf
from rackmark.dialects.catalog import DIALECTS as CATALOG
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from rackmark.logs.series import Window
from rackmark.numbers.time_to_train import olympic_mean
from shared_data import shared
from unit.mlperf_fixture import (
    BEGIN,
    DIALECT,
    LOG,
    SAMPLES,
    START,
    STOP,
    epochs,
    event,
    head,
    lines,
    states,
    throughput,
)

EVERYBODY = (*CATALOG, *flagperf.DIALECTS, *mlperf.DIALECTS, *ais_bench.DIALECTS)


def test_the_time_to_train_is_from_start_to_stop(tmp_path: Path) -> None:
    reading = read(tmp_path, LOG, DIALECT)
    assert reading.faults == reading.remarks == []
    assert reading.stated == {"time_to_train_s": 420.123, "accuracy": pytest.approx(0.7)}
    assert reading.facts == {"model": "resnet", "nodes": 2, "devices_per_node": 4, "hardware": "R750x4A100-SXM-40GB"}


def test_the_throughput_is_of_the_epochs_without_evaluations(tmp_path: Path) -> None:
    reading = read(tmp_path, LOG, DIALECT)
    rows = reading.series[None].rows
    assert rows.seconds.tolist() == [100.0] * 4
    assert rows.samples.tolist() == [SAMPLES] * 4
    assert rows.step.tolist() == pytest.approx([SAMPLES * number / 1024 for number in (1, 2, 3, 4)])
    assert rows.time.tolist() == pytest.approx([BEGIN / 1000 + seconds for seconds in (100, 200, 310, 410)])
    assert throughput(reading) == SAMPLES / 100


def test_blocks_count_where_there_are_no_epochs(tmp_path: Path) -> None:
    blocks = [line for line in epochs() if "epoch_start" not in line and "epoch_stop" not in line]
    reading = read(tmp_path, lines(*head(), *START, *blocks, STOP), DIALECT)
    assert reading.series[None].rows.samples.tolist() == [2 * SAMPLES] * 2
    assert throughput(reading) == 4 * SAMPLES / 420


def test_a_block_that_begins_anew_with_every_epoch_has_them_all(tmp_path: Path) -> None:
    begins = [(first, ms) for first, mss in ((1, (0, 50_000)), (3, (100_000, 150_000, 200_000))) for ms in mss]
    starts = [event("block_start", ms, first_epoch_num=first, epoch_count=1) for first, ms in begins]
    first_stop, second_stop = (
        [event("block_stop", ms, first_epoch_num=first), event("eval_accuracy", ms + 1, 0.5, epoch_num=last)]
        for first, last, ms in ((1, 2, 100_000), (3, 5, 250_000))
    )
    stop = event("run_stop", 260_000, status="success")
    reading = read(tmp_path, lines(*head(), *START, *starts[:2], *first_stop, *starts[2:], *second_stop, stop), DIALECT)
    assert reading.series[None].rows.samples.tolist() == [2 * SAMPLES, 3 * SAMPLES]
    assert reading.series[None].rows.seconds.tolist() == [100.0, 150.0]


@pytest.mark.parametrize(("begins", "rows"), [(1, 1), (2, None)])
def test_a_last_block_nobody_evaluated_counts_if_it_is_clear_what_it_held(
    tmp_path: Path, begins: int, rows: int | None
) -> None:
    starts = [event("block_start", 0, first_epoch_num=1, epoch_count=3)] * begins
    text = lines(*head(), *START, *starts, event("block_stop", 400_000, first_epoch_num=1), STOP)
    series = read(tmp_path, text, DIALECT).series
    assert (series[None].rows.samples.tolist() if series else None) == ([3 * SAMPLES] if rows else None)


def test_counted_samples_are_taken_as_they_are(tmp_path: Path) -> None:
    counted = [
        event("block_start", 1000, samples_count=0),
        event("block_stop", 61_000, samples_count=3072),
        event("eval_accuracy", 70_000, 0.93, samples_count=3072),
        event("block_start", 70_000, samples_count=3072),
        event("block_stop", 100_000, samples_count=4608),
        event("epoch_stop", 100_000, samples_count=4608),
    ]
    stop = event("run_stop", 101_000, status="success")
    reading = read(tmp_path, lines(*head("llama2_70b_lora"), *START, *counted, stop), DIALECT)
    assert reading.series[None].rows.samples.tolist() == [3072, 1536]
    assert throughput(reading) == 4608 / 90
    assert "accuracy" not in reading.stated  # what this benchmark evaluates is a loss


def test_what_is_evaluated_may_be_no_accuracy(tmp_path: Path) -> None:
    stated = read(tmp_path, LOG.replace('"value": 0.7,', '"value": NaN,'), DIALECT).stated
    assert stated == {"time_to_train_s": 420.123}


@pytest.mark.parametrize(
    ("path", "facts"),
    [
        ("2xR750x4A100/result_0.txt", {"repeat": 1, "nodes": 2, "devices_per_node": 4, "hardware": "R750x4A100"}),
        ("R750xax4A100/resnet/result_4.txt", {"repeat": 5, "nodes": 1, "devices_per_node": 4}),
        ("config_MI325X_08x08x32/result_1.txt", {"repeat": 2}),
        ("dgxh100_n64/result_10.txt", {"repeat": 11}),
        ("2xR750x4A100/slurm-12.out", {}),
    ],
)
def test_the_path_says_repeat_and_often_the_case(path: str, facts: dict[str, Any]) -> None:
    found = mlperf.place(PurePath(path))
    assert {name: found[name] for name in facts} == facts
    assert ("nodes" in found) == ("nodes" in facts)


SYSTEM = {
    "number_of_nodes": "32",
    "accelerators_per_node": 8,
    "accelerator_model_name": "Ascend 910",
    "framework": "MindSpore v1",
}


@pytest.mark.parametrize(
    ("described", "facts"),
    [
        (
            json.dumps(SYSTEM),
            {"nodes": 32, "devices_per_node": 8, "hardware": "Ascend 910", "framework": "mindspore"},
        ),
        (json.dumps({**SYSTEM, "number_of_nodes": "many"}), {}),
        (json.dumps({**SYSTEM, "number_of_nodes": 0}), {}),
        ("[" * 100_000, {}),
        ("[1]", {}),
    ],
)
def test_the_description_of_a_system_is_found(tmp_path: Path, described: str, facts: dict[str, Any]) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "Cloud_256.json").write_text(described)
    assert mlperf.place(tmp_path / "results" / "Cloud_256" / "resnet" / "result_2.txt") == {"repeat": 3, **facts}


def test_the_dialect_is_told_from_all_others(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(LOG)
    found = recognise(LogFile(path), EVERYBODY)
    assert found is not None and found.dialect is DIALECT
    path.write_text(lines(*(event("power_reading", ms, 3400.0) for ms in range(0, 9000, 1000))))
    assert recognise(LogFile(path), mlperf.DIALECTS) is None


def test_the_olympic_mean_leaves_out_the_fastest_and_the_slowest() -> None:
    assert olympic_mean([50, 10, 30, 20, 40]) == (30, None)
    assert olympic_mean([50, 10, None, 20, 40]) == (pytest.approx(110 / 3), None)
    assert olympic_mean([*range(1, 10), 99], runs=10) == (5.5, None)
    assert olympic_mean([*range(1, 37), *[None] * 4], runs=40) == (20.5, None)


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [
        ([50, 10, None, None, 40], "2 of 5 runs did not reach"),
        ([50, 10, 30, 20], "takes 5 runs, there are 4"),
        ([50, 10, 30, 20, 40, 60], "takes 5 runs, there are 6"),
        ([50, 10, 30, 20, 0], "above zero"),
        ([50, 10, 30, 20, math.nan], "above zero"),
        ([], "there are 0"),
    ],
)
def test_an_olympic_mean_that_is_not_due_says_why(seconds: list[float | None], reason: str) -> None:
    mean = olympic_mean(seconds)
    assert mean.seconds is None
    assert reason in (mean.reason or "")


def test_an_olympic_mean_needs_something_left() -> None:
    with pytest.raises(ValueError, match="nothing left"):
        olympic_mean([1.0, 2.0], runs=2)


def test_published_runs_give_the_published_times() -> None:
    folder = shared("mlperf")
    expected = json.loads((folder / "expected_time_to_train.json").read_text())
    minutes: dict[str, list[float | None]] = {}
    for name, run in expected.items():
        reading = DIALECT.read(LogFile(folder / name), Window(0, None))
        shown = reading.tables[1].rows[0]
        assert shown[1] == run["status"]
        assert round(shown[2] * 1000) / 60_000 == run["ttt_min"]
        seconds = reading.stated.get("time_to_train_s")
        assert (seconds == shown[2]) if run["status"] == "success" else states(reading) == ["rule_failed"]
        minutes.setdefault(Path(name).parts[-2 if "dell" in name else -3], []).append(seconds)
    means = {system: olympic_mean(times).seconds for system, times in minutes.items()}
    assert means["2xXE8545x4A100"] == pytest.approx((2007.073 + 2010.454 + 2003.71) / 3)
    assert None not in means.values()


@pytest.mark.parametrize(
    ("log", "case", "rate"),
    [
        ("v2.1-dell-resnet/4xXE8545x4A100/result_0.txt", (4, 4), 44014.5),
        ("v2.1-dell-resnet/XE8545x4A100/result_0.txt", (1, 4), 12101.2),
        ("v1.0-pcl-ascend910/results/CloudBrainII_256_mindspore_close/resnet/result_0.txt", (32, 8), 511668.1),
    ],
)
def test_published_logs_give_case_and_throughput(log: str, case: tuple[int, int], rate: float) -> None:
    path = shared(f"mlperf/{log}")
    facts = mlperf.place(path)
    assert (facts["nodes"], facts["devices_per_node"]) == case
    assert throughput(DIALECT.read(LogFile(path), Window(0, None))) == pytest.approx(rate, abs=0.1)

"""Samples/s of MLPerf's logs: what else the log says has to agree, or there are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dialect_fixture import read
from rackmark.logs.log_file import LogFile
from rackmark.logs.reading import Reading
from rackmark.logs.series import Window
from shared_data import shared
from unit.log_fixture import outcome_of, write
from unit.mlperf_fixture import DIALECT, SAMPLES, START, STOP, epochs, event, head, lines, throughput


def why_no_rate(reading: Reading) -> str:
    """The time to train stays."""
    assert reading.faults == []
    assert reading.series == {}
    assert reading.stated["time_to_train_s"] == 420.123
    return reading.unstated["throughput"]


@pytest.mark.parametrize("factor", [0.5, 1.5, 50])
def test_a_printed_rate_that_contradicts_the_intervals_leaves_none(tmp_path: Path, factor: float) -> None:
    reading = read(tmp_path, lines(*head(), *START, *epochs(rate=factor * SAMPLES / 100), STOP), DIALECT)
    assert "12,811.7 samples/s" in why_no_rate(reading)
    assert f"{factor * SAMPLES / 100:,.1f} (the median of 4)" in why_no_rate(reading)


def test_a_rate_that_run_stop_names_counts_too(tmp_path: Path) -> None:
    body = [line for line in epochs() if "tracked_stats" not in line]
    stop = event("run_stop", 420123, status="success", throughput="340.76")
    assert "340.8" in why_no_rate(read(tmp_path, lines(*head(), *START, *body, stop), DIALECT))


def test_epochs_that_end_before_the_devices_are_done_give_way_to_blocks(tmp_path: Path) -> None:
    """Of large systems the host runs ahead: it says that an epoch has ended as soon as it has been queued."""
    body = [line for line in epochs() if "tracked_stats" not in line and "epoch_st" not in line]
    ahead = [event(f"epoch_{what}", 100_000 * (k - 1) + ms, epoch_num=k)
             for k in (1, 2, 3, 4) for what, ms in (("start", 10), ("stop", 30))]  # fmt: skip
    reading = read(tmp_path, lines(*head(), *START, *sorted([*body, *ahead], key=_time), STOP), DIALECT)
    assert throughput(reading) == pytest.approx(4 * SAMPLES / 420)


def test_intervals_that_leave_most_of_the_run_out_give_no_rate(tmp_path: Path) -> None:
    body = [line for line in epochs(seconds=1) if "tracked_stats" not in line]
    assert "from run_start to run_stop" in why_no_rate(read(tmp_path, lines(*head(), *START, *body, STOP), DIALECT))


def test_train_samples_that_are_no_data_set_give_no_rate(tmp_path: Path) -> None:
    start = [event("run_start", 0), event("train_samples", 2, 9143)]
    body = [line for line in epochs() if "tracked_stats" not in line]
    assert "9,143" in why_no_rate(read(tmp_path, lines(*head("ssd"), *start, *body, STOP), DIALECT))


def test_epochs_that_are_numbered_by_samples_give_no_rate(tmp_path: Path) -> None:
    start = [event("run_start", 0), event("train_samples", 2, 168)]
    firsts = [168, *range(3360, 3360 * 41, 3360)]
    blocks = [line for number, first in enumerate(firsts) for line in (
        event("block_start", 10_000 * number, first_epoch_num=first, epoch_count=3360),
        event("block_stop", 10_000 * number + 9_000, first_epoch_num=first),
    )]  # fmt: skip
    reading = read(tmp_path, lines(*head("unet3d"), *start, *blocks, STOP), DIALECT)
    assert "first epoch is called 168" in why_no_rate(reading)


def test_evaluations_that_count_samples_end_no_block(tmp_path: Path) -> None:
    """unet3d's evaluations name the samples so far where its blocks name epochs."""
    start = [event("run_start", 0), event("train_samples", 2, 168)]
    body = [line for number in range(42) for line in (
        event("block_start", 10_000 * number, first_epoch_num=max(1, 20 * number), epoch_count=20),
        event("tracked_stats", 10_000 * number + 9_900, {"throughput": 339.0}, step=number),
        event("block_stop", 10_000 * number + 9_900, first_epoch_num=max(1, 20 * number)),
        event("eval_accuracy", 10_000 * number + 9_950, 0.5, epoch_num=168 * 20 * number),
    )]  # fmt: skip
    reading = read(tmp_path, lines(*head("unet3d"), *start, *body, STOP), DIALECT)
    assert throughput(reading) == pytest.approx(20 * 168 / 9.9, rel=0.01)


def test_the_report_says_why_there_is_no_rate(tmp_path: Path) -> None:
    log = lines(*head(), *START, *epochs(rate=1.0), STOP)
    (case,) = outcome_of(write(tmp_path / "logs", {"2xR750x4A100/result_0.txt": log})).summary["cases"]
    (run,) = case["runs"]
    assert (run["state"], run["throughput"], run["time_to_train_s"]) == ("ok", None, 420.123)
    assert "the rates that it prints are 1.0" in run["missing"]["throughput"]


def test_published_logs_give_the_rate_that_they_print_or_none() -> None:
    folder = shared("mlperf-more")
    expected = json.loads((folder / "expected.json").read_text())
    assert expected
    for name, run in expected.items():
        reading = DIALECT.read(LogFile(folder / name), Window(0, None))
        if not reading.series:
            continue
        rate, printed = throughput(reading), run["stated_throughput_last"]
        assert printed is None or rate == pytest.approx(printed, rel=0.1), name
        assert rate < 1e6, name
    with_rate = {Path(name).parent.name for name in expected
                 if DIALECT.read(LogFile(folder / name), Window(0, None)).series}  # fmt: skip
    assert {"llama2_70b_lora", "resnet", "unet3d"} <= with_rate
    assert not {"ssd", "maskrcnn", "bert", "gnmt"} & with_rate


def _time(line: str) -> float:
    return float(json.loads(line.partition(":::MLLOG ")[2])["time_ms"])

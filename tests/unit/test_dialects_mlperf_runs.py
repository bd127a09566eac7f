"""MLPerf's logs: where a run begins and ends, and which rates it gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dialect_fixture import read
from rackmark.dialects.catalog import DIALECTS as CATALOG
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from rackmark.logs.series import Window
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


def later(line: str, ms: int) -> str:
    before, token, text = line.partition(":::MLLOG ")
    if not token:
        return line
    record = json.loads(text)
    return before + token + json.dumps({**record, "time_ms": record["time_ms"] + ms})


@pytest.mark.parametrize("benchmark", ["bert", "somebody_elses"])
def test_epochs_that_need_not_be_whole_give_no_throughput(tmp_path: Path, benchmark: str) -> None:
    text = lines(*head(benchmark), *START, event("epoch_start", 0, epoch_num=1), event("epoch_stop", 9000, epoch_num=1))
    reading = read(tmp_path, text + STOP + "\n", DIALECT)
    assert reading.stated == {"time_to_train_s": 420.123}
    assert reading.series == {}
    assert "no throughput" in reading.unstated["throughput"]


@pytest.mark.parametrize("lost", ["global_batch_size", "train_samples", "submission_benchmark"])
def test_without_what_it_takes_there_is_no_throughput(tmp_path: Path, lost: str) -> None:
    reading = read(tmp_path, "".join(line for line in LOG.splitlines(True) if lost not in line), DIALECT)
    assert reading.series == {}
    assert reading.stated["time_to_train_s"] == 420.123


def test_an_aborted_run_has_no_time_to_train(tmp_path: Path) -> None:
    reading = read(tmp_path, LOG.replace('"success"', '"aborted"'), DIALECT)
    assert states(reading) == ["rule_failed"]
    assert "aborted after 7.00 minutes" in reading.faults[0].reason
    assert reading.stated == {}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (LOG[: LOG.index("run_stop")], "no run_stop"),
        (LOG[: LOG.index('"run_stop"') + 40], "no run_stop"),
        (LOG[: LOG.index("run_start")], "no run_start"),
        (LOG.replace('"status": "success"', '"state": 1'), "status None"),
        (LOG.replace(str(BEGIN + 420123), str(BEGIN - 5)), "a clock is wrong"),
    ],
)
def test_a_run_whose_end_is_not_known_is_incomplete(tmp_path: Path, broken: str, reason: str) -> None:
    reading = read(tmp_path, broken, DIALECT)
    assert states(reading) == ["incomplete"]
    assert reason in reading.faults[0].reason
    assert reading.stated == {}


def test_a_log_without_its_middle_has_fewer_epochs_and_the_same_rate(tmp_path: Path) -> None:
    all_lines = LOG.splitlines(True)
    middle = next(number for number, line in enumerate(all_lines) if '"epoch_num": 2' in line)
    reading = read(tmp_path, "".join([*all_lines[:middle], "torn :::MLL", *all_lines[middle + 3 :]]), DIALECT)
    assert throughput(reading) == SAMPLES / 100
    assert len(reading.series[None].rows) == 3


def test_several_runs_in_one_log_are_a_fault_that_shows_them(tmp_path: Path) -> None:
    reading = read(tmp_path, LOG + lines(*(later(line, 600_000) for line in LOG.splitlines())), DIALECT)
    assert states(reading) == ["incomplete"]
    assert "2 runs" in reading.faults[0].reason
    assert [row[1:3] for row in reading.tables[1].rows] == [("success", 420.123)] * 2


def test_a_restart_without_a_stop_is_another_run(tmp_path: Path) -> None:
    text = lines(*head(), *START, *epochs(1), event("run_start", 130_000), *epochs(), STOP)
    assert "2 runs" in read(tmp_path, text, DIALECT).faults[0].reason


def test_ranks_that_say_the_same_are_one_run(tmp_path: Path) -> None:
    """Each a few milliseconds later; the run ends with the last of them."""
    echoed = [(line, later(line, number % 5 + 1)) for number, line in enumerate(LOG.splitlines())]
    reading = read(tmp_path, lines(*(line for pair in echoed for line in pair)), DIALECT)
    assert reading.faults == []
    assert reading.stated["time_to_train_s"] == pytest.approx(420.123, abs=0.006)
    assert reading.series[None].rows.samples.tolist() == [SAMPLES] * 4


def test_a_rank_that_aborted_makes_it_an_aborted_run(tmp_path: Path) -> None:
    text = LOG + event("run_stop", 420200, status="aborted") + "\n"
    assert states(read(tmp_path, text, DIALECT)) == ["rule_failed"]


def test_the_lines_of_srun_are_those_of_one_rank(tmp_path: Path) -> None:
    text = lines(*(f"{rank}: {line}" for rank in (0, 1) for line in LOG.splitlines()))
    reading = read(tmp_path, text, DIALECT)
    assert reading.faults == []
    assert reading.stated["time_to_train_s"] == 420.123


def test_lines_glued_to_others_are_read(tmp_path: Path) -> None:
    text = LOG.replace("\n:::MLLOG", ":::MLLOG")
    assert read(tmp_path, text, DIALECT).stated["time_to_train_s"] == 420.123


@pytest.mark.parametrize(
    "payload",
    [
        "{" + '"a":{' * 700,
        '{"key": "run_start", "time_ms": ' + "9" * 3900 + "}",
        '{"key": "run_start", "time_ms": NaN}',
        '{"key": "run_start", "time_ms": 1e400}',
        '{"key": "run_start", "time_ms": "1"}',
        '{"key": 7, "time_ms": 5, "metadata": []}',
        '{"key": {"run_start": []}, "time_ms": 5}',
        '{"key": "run_stop", "time_ms": 5, "metadata": {"status": {"a": []}}}',
    ],
)
def test_hostile_records_start_no_run(tmp_path: Path, payload: str) -> None:
    reading = read(tmp_path, lines(*(f":::MLLOG {payload}" for _ in range(3))), DIALECT)
    assert states(reading) == ["incomplete"]
    assert reading.stated == {}


def test_times_may_be_in_seconds(tmp_path: Path) -> None:
    in_seconds = []
    for line in LOG.splitlines():
        before, token, text = line.partition(":::MLLOG ")
        record = json.loads(text) if token else {}
        seconds = {"time_s": record.pop("time_ms") / 1000} if token else {}
        in_seconds.append(before + token + json.dumps({**record, **seconds}) if token else line)
    reading = read(tmp_path, lines(*in_seconds), DIALECT)
    assert reading.stated["time_to_train_s"] == pytest.approx(420.123, abs=1e-3)
    assert throughput(reading) == pytest.approx(SAMPLES / 100, rel=1e-4)


def test_the_rank_that_begins_a_run_need_not_be_the_one_that_ends_it(tmp_path: Path) -> None:
    said = [f"{7 if 'run_stop' in line else 0}: {line}" for line in LOG.splitlines()]
    said += [f"{rank}: ready" for rank in range(8)]
    reading = read(tmp_path, lines(*said), DIALECT)
    assert reading.faults == [] and reading.stated["time_to_train_s"] == 420.123
    aborted = read(tmp_path, lines(*said).replace('"success"', '"aborted"'), DIALECT)
    assert states(aborted) == ["rule_failed"]


@pytest.mark.parametrize("every", [1, 2, 9])
def test_lines_of_the_program_that_begin_like_those_of_srun_hide_no_record(tmp_path: Path, every: int) -> None:
    """GNMT begins its own lines with the number of its rank."""
    said = [f"0: TRAIN [0][{number}/1885]\tTime 0.343" for number in range(40 * every)]
    mixed = LOG.splitlines()[:8] + said + LOG.splitlines()[8:]
    reading = read(tmp_path, lines(*mixed), DIALECT)
    assert reading.faults == [] and reading.stated["time_to_train_s"] == 420.123


def test_published_logs_of_every_kind_give_their_time_to_train() -> None:
    folder = shared("mlperf-more")
    expected = json.loads((folder / "expected.json").read_text())
    for name, run in expected.items():
        found = recognise(LogFile(folder / name), CATALOG)
        assert found is not None and (found.dialect.name, found.other) == ("mlperf", None), name
        stated = DIALECT.read(LogFile(folder / name), Window(0, None)).stated
        assert stated["time_to_train_s"] == pytest.approx(run["seconds_run_start_to_run_stop"], abs=0.002), name

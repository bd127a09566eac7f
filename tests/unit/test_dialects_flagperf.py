"""FlagPerf's PerfLog records, the result in them, and where its files lie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dialect_fixture import read, steps_per_second
from rackmark.dialects import ais_bench, flagperf, mlperf
from rackmark.dialects.catalog import DIALECTS as CATALOG
from rackmark.logs.dialect import recognise
from rackmark.logs.log_file import LogFile
from shared_data import shared
from unit.flagperf_log_fixture import DIALECT, language_model, lines, read_at, states

EVERYBODY = (*CATALOG, *flagperf.DIALECTS, *mlperf.DIALECTS, *ais_bench.DIALECTS)


BEGIN = 1669034171032


OLD = {
    "e2e_time": 1661.6114165782928,
    "training_sequences_per_second": 579.0933420700227,
    "converged": True,
    "final_loss": 3.066718101501465,
    "final_mlm_accuracy": 0.920166015625,
    "raw_train_time": 1501.713,
    "init_time": 148.937,
}


NEW = {
    "e2e_time": 1300.0,
    "train_time": 1200.0,
    "train_no_eval_time": 1100.0,
    "pure_training_computing_time": 1000.0,
    "throughput(ips)_raw": 500.0,
    "throughput(ips)_no_eval": 545.4545,
    "throughput(ips)_pure_compute": 600.0,
    "converged": True,
    "final_acc1": 75.3,
    "final_acc5": 92.6,
}


def record(event: str, value: Any = None, rank: int = 0, time_ms: int = BEGIN) -> str:
    content = {"event": event, **({} if value is None else {"value": value})}
    metadata = {
        "file": "/workspace/training/benchmarks/cpm/pytorch/run_pretraining.py",
        "lineno": 127,
        "time_ms": time_ms,
        "rank": rank,
    }
    return "[PerfLog] " + json.dumps({**content, "metadata": metadata})


def step_end(step: int, seconds: float, rank: int = 0, **other: Any) -> str:
    value = {"loss": 2.5, "end_training": False, "global_steps": step, "num_trained_samples": 256 * step, **other}
    return record("STEP_END", value, rank, BEGIN + round(1000 * seconds))


STEPS = [record("TRAIN_START"), *(step_end(step, 0.5 * step) for step in (1, 10, 20, 30)), record("EPOCH_END")]


LOG = lines("Namespace(local_rank=0)", record("INIT_START"), *STEPS, record("TRAIN_END"), record("FINISHED", OLD))


def test_the_old_record_states_the_whole_training(tmp_path: Path) -> None:
    reading = read(tmp_path, LOG, DIALECT)
    assert reading.faults == []
    assert reading.stated == {
        "whole": 579.0933420700227,
        "throughput": 579.0933420700227,
        "e2e_s": 1661.6114165782928,
        "loss": 3.066718101501465,
        "accuracy": 0.920166015625,
        "final_mlm_accuracy": 0.920166015625,
        "converged": 1.0,
        "time_to_train_s": 1501.713,
    }
    assert reading.facts == {"unit": "sequences/s", "model": "cpm", "framework": "pytorch"}
    assert reading.remarks == ["The throughput is of the training with its evaluations: no other is stated."]


def test_steps_are_measured_from_record_to_record(tmp_path: Path) -> None:
    rows = read(tmp_path, LOG, DIALECT).series[None].rows
    assert rows.step.tolist() == [10, 20, 30]
    assert rows.steps.tolist() == [9, 10, 10]
    assert rows.samples.tolist() == [9 * 256, 2560, 2560]
    assert rows.seconds.tolist() == pytest.approx([4.5, 5, 5])
    assert rows.time[-1] == pytest.approx(BEGIN / 1000 + 15)
    assert steps_per_second(read(tmp_path, LOG, DIALECT)) == pytest.approx(2)


def test_the_new_record_states_three_throughputs_and_the_pure_one_counts(tmp_path: Path) -> None:
    reading = read(tmp_path, lines(*STEPS, record("FINISHED", NEW)), DIALECT)
    assert reading.stated == {
        "throughput": 600.0,
        "no_eval": 545.4545,
        "whole": 500.0,
        "e2e_s": 1300.0,
        "accuracy": pytest.approx(0.753),
        "final_acc1": 75.3,
        "final_acc5": 92.6,
        "converged": 1.0,
        "time_to_train_s": 1200.0,
    }
    assert reading.remarks == []


def test_a_benchmark_that_misspells_throughput_is_understood(tmp_path: Path) -> None:
    misspelt = {name.replace("throughput", "throuhgput"): value for name, value in NEW.items()}
    assert read(tmp_path, lines(*STEPS, record("FINISHED", misspelt)), DIALECT).stated["throughput"] == 600.0


def test_throughputs_that_are_not_stated_follow_from_samples_and_times(tmp_path: Path) -> None:
    value = {"num_trained_samples": 600000, "raw_train_time": 1200.0, "train_no_eval_time": 1000.0}
    reading = read(tmp_path, lines(*STEPS, record("FINISHED", value)), DIALECT)
    assert reading.stated == {"whole": 500.0, "no_eval": 600.0, "throughput": 600.0}
    assert reading.remarks == ["The throughput is of the training without its evaluations: no other is stated."]


def test_two_definitions_that_differ_by_a_step_are_both_named(tmp_path: Path) -> None:
    value = {"training_sequences_per_second": 1221.242941532543, "raw_train_time": 8598.715, "converged": True}
    last = step_end(41020, 9, end_training=True, num_trained_samples=256 * 41019)
    reading = read(tmp_path, lines(last, record("FINISHED", value)), DIALECT)
    assert reading.stated["whole"] == 1221.242941532543
    assert "training_sequences_per_second, 1221.243; num_trained_samples" in reading.remarks[0]
    assert reading.remarks[0].endswith("gives 1221.213.")


def test_the_samples_of_a_step_that_was_not_the_last_are_no_total(tmp_path: Path) -> None:
    value = {"raw_train_time": 100.0, "e2e_time": 110.0}
    assert read(tmp_path, lines(*STEPS, record("FINISHED", value)), DIALECT).stated == {"e2e_s": 110.0}


def test_throughputs_that_contradict_each_other_are_remarked(tmp_path: Path) -> None:
    value = {**NEW, "throughput(ips)_pure_compute": 75.0}
    assert "contradict" in read(tmp_path, lines(*STEPS, record("FINISHED", value)), DIALECT).remarks[0]


def test_a_target_that_was_not_reached_is_remarked(tmp_path: Path) -> None:
    reading = read(tmp_path, lines(*STEPS, record("FINISHED", {**OLD, "converged": False})), DIALECT)
    assert reading.faults == []
    assert "The training did not reach its target (converged is false), so there is no time to it." in reading.remarks
    assert reading.stated["converged"] == 0.0
    assert "time_to_train_s" not in reading.stated


@pytest.mark.parametrize(
    ("final", "accuracy"),
    [
        ({"final_mAP": 0.405}, 0.405),
        ({"final_acc": 68.5}, 0.685),
        ({"final_acc1": 0.84, "converged": True}, 0.84),
        ({"final_acc1": 0.84, "converged": False}, None),
        ({"final_acc5": 92.0}, None),
        ({"final_accuracy": float("nan")}, None),
        ({"final_accuracy": True}, None),
        ({"final_loss": 0.5}, None),
    ],
)
def test_accuracy_is_a_fraction(tmp_path: Path, final: dict[str, Any], accuracy: float | None) -> None:
    stated = read(tmp_path, lines(*STEPS, record("FINISHED", {"e2e_time": 3.0, **final})), DIALECT).stated
    assert stated.get("accuracy") == (None if accuracy is None else pytest.approx(accuracy))


def test_records_glued_to_each_other_and_to_other_text_are_all_read(tmp_path: Path) -> None:
    glued = "".join([" 3%|##  | 12/400 [00:03<01:10]", *STEPS[1:4], "WARNING:torch", STEPS[4]])
    reading = read(tmp_path, lines(glued, record("FINISHED", OLD)), DIALECT)
    assert reading.series[None].rows.step.tolist() == [10, 20, 30]
    assert reading.stated["whole"] == 579.0933420700227


def test_a_record_that_another_one_cuts_in_two_is_left_out_and_counted(tmp_path: Path) -> None:
    torn = STEPS[2][:80] + STEPS[3]
    reading = read(tmp_path, lines(STEPS[1], torn, STEPS[4], record("FINISHED", OLD)), DIALECT)
    assert reading.series[None].rows.step.tolist() == [20, 30]
    assert reading.remarks[0] == "Records that are torn or damaged, and left out: 1."


@pytest.mark.parametrize("end", [LOG.index("FINISHED") + 60, LOG.index("TRAIN_END"), LOG.index('"global_steps": 20')])
def test_a_log_that_ends_too_early_is_incomplete(tmp_path: Path, end: int) -> None:
    reading = read(tmp_path, LOG[:end], DIALECT)
    assert states(reading) == ["incomplete"]
    assert reading.stated == {}


def test_a_log_without_its_middle_still_states_its_result(tmp_path: Path) -> None:
    reading = read(tmp_path, lines(STEPS[1], STEPS[4], record("FINISHED", OLD)), DIALECT)
    assert reading.faults == []
    assert reading.series[None].rows.steps.tolist() == [29]


def test_records_that_lost_their_payload_say_nothing(tmp_path: Path) -> None:
    reading = read(tmp_path, lines(record("STEP_END"), *STEPS, record("EVALUATE"), record("FINISHED")), DIALECT)
    assert reading.faults == []
    assert reading.stated == {}
    assert reading.series[None].rows.step.tolist() == [10, 20, 30]


def test_records_of_one_step_are_one(tmp_path: Path) -> None:
    twice = [step_end(1, 0), step_end(1, 1), step_end(2, 2), step_end(2, 3), step_end(3, 4)]
    rows = read(tmp_path, lines(*twice, record("FINISHED", OLD)), DIALECT).series[None].rows
    assert rows.steps.tolist() == [1, 1]
    assert rows.seconds.tolist() == [2, 2]


def test_a_second_training_in_the_log_is_a_fault(tmp_path: Path) -> None:
    reading = read(tmp_path, lines(*STEPS, step_end(1, 60), step_end(10, 65), record("FINISHED", OLD)), DIALECT)
    assert states(reading) == ["incomplete"]
    assert "After step 30 comes step 1" in reading.faults[0].reason
    assert states(read(tmp_path, LOG + LOG, DIALECT)) == ["incomplete", "incomplete"]


def test_a_clock_that_goes_back_loses_one_interval(tmp_path: Path) -> None:
    steps = [step_end(1, 100), step_end(2, 101), step_end(3, 40), step_end(4, 41)]
    reading = read(tmp_path, lines(*steps, record("FINISHED", OLD)), DIALECT)
    assert reading.series[None].rows.step.tolist() == [2, 4]
    assert "The clock goes back" in reading.remarks[0]


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_is_a_fault(tmp_path: Path, broken: float) -> None:
    reading = read(tmp_path, lines(*STEPS, step_end(40, 20, loss=broken), record("FINISHED", OLD)), DIALECT)
    assert states(reading) == ["nan_loss"]
    assert reading.series[None].broken_loss is not None


def test_only_the_first_rank_of_all_has_to_have_finished(tmp_path: Path) -> None:
    unfinished = lines(*STEPS, record("TRAIN_END"))
    node = "run20221121191924/resnet50:pytorch:A100:2:8:3/round2/10.1.2.3_noderank"
    assert states(read_at(tmp_path, f"{node}0/rank0.out.log", unfinished)) == ["incomplete"]
    other_node = read_at(tmp_path, f"{node}1/rank8.out.log", unfinished)
    assert other_node.faults == []
    assert other_node.facts["model"] == "resnet50"  # the path knows better than the lines
    other_rank = lines(*(step_end(step, step, rank=3) for step in (1, 2, 3)))
    assert read(tmp_path, other_rank, DIALECT).faults == []


@pytest.mark.parametrize(
    "payload",
    [
        "[" * 3900,
        '{"event": "FINISHED", "value": ' + '{"a":' * 700,
        '{"event": "FINISHED", "value": {"throughput(ips)_raw": ' + "9" * 3800 + "}}",
        '{"event": "FINISHED", "value": {"throughput(ips)_raw": NaN, "e2e_time": -Infinity}}',
        '{"event": "FINISHED", "value": {"throughput(ips)_raw": "500", "raw_train_time": true}}',
        '{"event": "STEP_END", "value": [], "metadata": {"rank": 1e400, "time_ms": "x"}}',
        '{"event": ["STEP_END"], "value": {"global_steps": NaN}}',
        "\x00\ufffd",
    ],
)
def test_hostile_records_give_no_number(tmp_path: Path, payload: str) -> None:
    reading = read(tmp_path, lines(*(f"[PerfLog] {payload}" for _ in range(3))), DIALECT)
    assert reading.stated == {}
    assert all(len(series.rows) == 0 for series in reading.series.values())


def test_many_ranks_in_one_file_are_told_apart(tmp_path: Path) -> None:
    text = lines(*(step_end(step, step, rank) for step in (1, 2, 3) for rank in (0, 1)), record("FINISHED", OLD))
    reading = read(tmp_path, text, DIALECT)
    assert sorted(reading.series) == [0, 1]
    assert steps_per_second(reading, 1) == pytest.approx(1)


def test_the_dialect_is_told_from_all_others(tmp_path: Path) -> None:
    for text in (LOG, LOG.replace("\n", "\r\n"), language_model(24800.0, 3100.0, "0.4173")):
        path = tmp_path / "a.log"
        path.write_text(text, newline="")
        found = recognise(LogFile(path), EVERYBODY)
        assert found is not None and found.dialect is DIALECT
    path.write_text(':::MLLOG {"time_ms": 1, "key": "run_start", "value": null, "metadata": {}}\nTimeHistory: 3\n')
    assert recognise(LogFile(path), flagperf.DIALECTS) is None


@pytest.mark.parametrize(
    ("name", "whole", "remarks"),
    [("cpm_pytorch", 579.0933420700227, 1), ("bert_paddle", 1221.242941532543, 2)],
)
def test_published_logs_give_the_published_throughput(tmp_path: Path, name: str, whole: float, remarks: int) -> None:
    text = shared(f"flagperf/perflog_{name}_rank0_tail.log").read_bytes()
    reading = read(tmp_path, text, DIALECT)
    assert reading.faults == []
    assert reading.stated["whole"] == reading.stated["throughput"] == whole
    assert len(reading.remarks) == remarks

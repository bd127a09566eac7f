"""Meters beside the log of a training: its energy, or the reason why there is none."""

from __future__ import annotations

import json

import pytest
from log_fixture import analyzed, case_of, mindspore_log, numbers_of, write
from shared_data import shared
from unit.analysis_folders_fixture import meter, run, table, training


@pytest.mark.parametrize(
    ("log", "meters"),
    [
        ("bench/result_0.txt", "bench/power/result_0"),
        ("power/training_log_result_0.txt", "power/result_0"),
        ("runs/first/train.log", "runs/first"),
        ("runs/first.log", "runs/first"),
    ],
)
def test_meters_beside_the_log_of_a_training_tell_its_energy(tmp_path, log, meters):
    write(tmp_path, {log: training(), f"{meters}/node_0.txt": meter(1000), f"{meters}/node_1.txt": meter(600)})
    found = numbers_of(tmp_path)
    case = case_of(found, "2n4g")
    assert case["energy_j"] == run(found)["energy_j"] == pytest.approx(160_000)
    assert case["samples_per_j"] == pytest.approx(6400 / 160_000)
    assert run(found)["throughput"] == pytest.approx(80)  # samples in the time of training
    assert found.problems == []


def test_a_meter_that_tells_nothing_leaves_no_energy_of_the_whole(tmp_path):
    logs = {"result_0.txt": training(), "result_0/node_0.txt": meter(1000), "result_0/sw_0.txt": meter(50, -18000)}
    (analysis,) = analyzed(write(tmp_path, logs))
    (judged,) = analysis.judged["2n4g"]
    assert (judged.result.state, judged.result.energy_j, judged.result.samples_per_j) == ("ok", None, None)
    (remark,) = analysis.remarks
    assert remark.startswith("result_0.txt: There is no energy of the whole. sw_0.txt: The readings end ")
    assert "5 h later they would cover it" in remark
    assert table(analysis, "Energy").rows == [
        ("node_0.txt", "100,000", "1,000"),
        ("sw_0.txt", None, None),
        ("1 of 2", "100,000", "1,000"),
    ]


def test_every_repeat_has_its_own_meters(tmp_path):
    logs = {f"result_{number}.txt": training(100 + number) for number in (0, 1, 10)}
    meters = {f"power/result_{number}/node_0.txt": meter(1000 + number, seconds=120) for number in (0, 1, 10)}
    runs = numbers_of(write(tmp_path, {**logs, **meters})).summary["cases"][0]["runs"]
    assert [one["energy_j"] for one in runs] == pytest.approx([1000 * 100, 1001 * 101, 1010 * 110])


def test_meters_without_a_training_are_no_energy_of_another(tmp_path):
    logs = {"result_0.txt": training(), "result_1/node_0.txt": meter(9), "result_1/node_1.txt": meter(9)}
    found = numbers_of(write(tmp_path, logs))
    assert run(found)["energy_j"] is None
    (problem,) = found.problems
    assert problem.startswith("2 logs of power meters are in result_1 without that of a training")


def test_meters_beside_a_log_without_begin_and_end_tell_no_energy(tmp_path):
    logs = {"1n1g/a_b128_fp32_1.log": mindspore_log(370.29), "1n1g/node_0.txt": meter(9)}
    found = numbers_of(write(tmp_path, logs))
    assert run(found)["throughput"] and run(found)["energy_j"] is None
    assert any("the log has no run_start and run_stop" in problem for problem in found.problems)


def test_meters_alone_are_no_training(tmp_path):
    with pytest.raises(ValueError, match=r"The logs of power meters among them, 1, go with those of a training"):
        analyzed(write(tmp_path, {"result_0/node_0.txt": meter(9)}))


def test_the_published_energies_come_out_with_the_switch_that_is_five_hours_off(tmp_path):
    expected = json.loads(shared("power/expected_energy_result_0.json").read_text())
    (analysis,) = analyzed(shared("power"))
    (judged,) = analysis.judged["8n8g"]
    assert (judged.result.energy_j, judged.result.time_to_train_s) == (None, 293.927)
    assert any("sw_0.txt: The readings end 4 h 55 min 5 s" in remark for remark in analysis.remarks)
    assert table(analysis, "Energy").rows[-1][:2] == ("8 of 9", f"{expected['total_kJ'] * 1000:,.0f}")
    for path in ("training_log_result_0.txt", *(f"result_0/node_{number}.txt" for number in range(8))):
        write(tmp_path, {path: shared(f"power/{path}").read_bytes()})
    case = case_of(numbers_of(tmp_path), "8n8g")
    assert case["energy_j"] == expected["total_kJ"] * 1000
    assert case["samples_per_j"] == pytest.approx(3072 / (expected["total_kJ"] * 1000))

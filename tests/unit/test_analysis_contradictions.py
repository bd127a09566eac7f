"""What a log says of itself is held against its path and the operator's word: neither wins without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from rackmark.run.cases import Case
from unit.analysis_fixture import throughput
from unit.analysis_hostile_fixture import states
from unit.framework_logs import deepspeed_steps, oneflow_cnn
from unit.log_fixture import numbers_of, tensorflow_log, write
from unit.mlperf_fixture import LOG

STEADY = [0.5] * 250
GLOBAL_BATCH = "I0826 22:00:00.000000 14 resnet.py:1] Global batch size: {}\n"
DEVICES = "I0826 22:00:00.000000 14 resnet.py:1] Overriding params: runtime.num_gpus={}\n"
EIGHT = tensorflow_log([40.0] * 5, batch=1024)


def only(tmp_path: Path, name: str, text: str, **said: object) -> tuple[str, str | None]:
    ((state, reason),) = states(numbers_of(write(tmp_path / "logs", {name: text}), warmup=100, **said))
    return state, reason


def test_a_log_in_the_folder_of_another_case_is_found_by_the_rate_that_it_prints(tmp_path: Path) -> None:
    """It would be twice as fast there."""
    found = numbers_of(write(tmp_path / "right", {"1n8g/rn50_b128_fp32_1.log": EIGHT}))
    assert throughput(found) == pytest.approx(100 * 1024 / 40)
    state, reason = only(tmp_path, "2n8g/rn50_b128_fp32_1.log", EIGHT)
    assert state == "wrong_world_size"
    assert reason is not None and "2,560.0 samples/s" in reason and "2n8g with a batch of 128 per device" in reason


@pytest.mark.parametrize(("batch", "case"), [(64, "1n8g"), (128, "1n4g"), (256, "1n8g")])
def test_a_batch_or_case_of_the_operator_that_the_printed_rate_contradicts_makes_no_number(
    tmp_path: Path, batch: int, case: str
) -> None:
    state, reason = only(tmp_path, "plain.log", EIGHT, batch=batch, case=Case.parse(case))
    assert state == "wrong_world_size"
    assert reason is not None and f"{case} with a batch of {batch} per device" in reason


@pytest.mark.parametrize(
    ("log", "per_step"),
    [
        ("".join(line for line in oneflow_cnn(STEADY).splitlines(True) if line.startswith("train")), 2048),
        (deepspeed_steps(STEADY), 32),
        (deepspeed_steps(STEADY, newer=True), 32),
    ],
)
def test_every_dialect_that_prints_a_rate_beside_its_times_is_held_to_it(
    tmp_path: Path, log: str, per_step: int
) -> None:
    right = numbers_of(write(tmp_path / "right", {f"1n1g/a_b{per_step}_fp32_1.log": log}))
    assert throughput(right) == pytest.approx(per_step / 0.5)
    assert only(tmp_path, f"1n2g/a_b{per_step}_fp32_1.log", log)[0] == "wrong_world_size"


def test_a_rate_more_than_5_percent_off_the_stamps_is_said(tmp_path: Path) -> None:
    for batch, flags in ((1024, 0), (1060, 0), (1130, 1)):
        log = tensorflow_log([40.0] * 5, batch=batch)
        (case,) = numbers_of(write(tmp_path / str(batch), {"1n8g/rn50_b128_fp32_1.log": log})).summary["cases"]
        assert (case["repeats_ok"], len(case["flags"])) == (1, flags)
    assert case["flags"][0].startswith("repeat 1 prints a rate of its own that is 10 % above")


def test_a_global_batch_that_is_not_that_of_the_case_is_refused(tmp_path: Path) -> None:
    silent = EIGHT.replace(" 2560.00 examples/second", " nan examples/second")
    state, reason = only(tmp_path, "2n8g/rn50_b128_fp32_1.log", GLOBAL_BATCH.format(1024) + silent)
    assert state == "rule_failed"
    assert reason is not None and "1024" in reason and "2048" in reason


def test_devices_that_the_log_names_are_held_against_the_path(tmp_path: Path) -> None:
    state, reason = only(tmp_path, "2n4g/rn50_b128_fp32_1.log", DEVICES.format(8) + EIGHT)
    assert (state, reason) == ("wrong_world_size", "The path says 4 devices per node, the log 8.")


def test_devices_that_the_log_names_are_held_against_the_operator(tmp_path: Path) -> None:
    log = oneflow_cnn(STEADY).replace("num_nodes = 2\n", "")
    state, reason = only(tmp_path, "plain.log", log, case=Case.parse("2n4g"), batch=128)
    assert state == "wrong_world_size"
    assert reason is not None and "8 devices per node" in reason and "2n4g" in reason


def test_the_name_of_a_platform_is_typed_by_somebody_and_only_said(tmp_path: Path) -> None:
    found = numbers_of(write(tmp_path / "logs", {"4xR750x4A100-SXM-40GB/result_0.txt": LOG}))
    (case,) = found.summary["cases"]
    assert (case["case"], case["repeats_ok"]) == ("4n4g", 1)
    assert any("2xR750x4A100-SXM-40GB" in problem and "4 nodes" in problem for problem in found.problems)


def rates_with_stamps(batch: float, seconds: float = 8.0) -> str:
    """A line for every 20 steps, with the rate of all devices."""
    return "".join(
        f"DLL 2020-08-16 10:{int(seconds * number) // 60:02d}:{seconds * number % 60:09.6f} - (0, {20 * number})"
        f" imgs_per_sec : {20 * batch / seconds:.3f}  cross_entropy : 7.9  l2_loss : 1.3  total_loss : 9.3\n"
        for number in range(1, 40)
    )


def test_rates_that_count_are_held_against_the_stamps_of_their_lines(tmp_path: Path) -> None:
    log = rates_with_stamps(1024)
    found = numbers_of(write(tmp_path / "right", {"1n8g/rn50_b128_fp32_1.log": log}))
    assert (throughput(found), found.summary["cases"][0]["flags"]) == (pytest.approx(2560), [])
    assert only(tmp_path, "2n8g/rn50_b128_fp32_1.log", log)[0] == "wrong_world_size"
    (case,) = numbers_of(write(tmp_path / "off", {"1n8g/m_b128_fp32_1.log": rates_with_stamps(1130)})).summary["cases"]
    assert case["flags"] == [
        "repeat 1 prints a rate of its own that is 10 % above what its steps and times make: the rate counts"
    ]

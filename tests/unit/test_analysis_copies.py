"""The same log twice is one repeat; logs of unlike systems are none of the same case."""

from __future__ import annotations

from pathlib import Path

import pytest
from rackmark.run.cases import Case
from unit.analysis_hostile_fixture import states
from unit.log_fixture import analyzed, mindspore_log, numbers_of, write
from unit.mlperf_fixture import LOG

RUN = mindspore_log(370.29)


def test_a_copy_of_a_log_is_no_repeat_of_its_own(tmp_path: Path) -> None:
    logs = {f"1n1g/rn50_b128_fp32_{k}.log": RUN for k in (1, 2, 3)}
    logs["1n1g/rn50_b128_fp32_4.log"] = mindspore_log(371.0)
    found = numbers_of(write(tmp_path / "logs", logs))
    (case,) = found.summary["cases"]
    assert (case["repeats_ok"], case["repeats_total"]) == (2, 2)
    said = [problem for problem in found.problems if "copy" in problem]
    assert said == [
        f"1n1g/rn50_b128_fp32_{k}.log is a copy of 1n1g/rn50_b128_fp32_1.log: both are one repeat." for k in (2, 3)
    ]


def test_one_log_is_not_of_two_cases(tmp_path: Path) -> None:
    logs = {f"{case}/rn50_b128_fp32_1.log": RUN for case in ("1n1g", "1n2g")}
    found = states(numbers_of(write(tmp_path / "logs", logs)))
    assert [state for state, _ in found] == ["rule_failed"] * 2
    assert "1n1g/rn50_b128_fp32_1.log of 1n1g and 1n2g/rn50_b128_fp32_1.log of 1n2g" in (found[0][1] or "")


def test_two_empty_logs_are_two_failed_repeats(tmp_path: Path) -> None:
    logs = {"1n1g/rn50_b128_fp32_1.log": RUN, **{f"1n1g/rn50_b128_fp32_{k}.log": "" for k in (2, 3)}}
    assert [state for state, _ in states(numbers_of(write(tmp_path / "logs", logs)))] == ["ok", "no_data", "no_data"]


def test_systems_of_one_vendor_are_no_repeats_of_each_other(tmp_path: Path) -> None:
    """Their folders differ, and what the systems' descriptions call their accelerators does not."""
    text = LOG.replace("2xR750x4A100-SXM-40GB", "a system")
    systems = ("Vendor_A100_close", "Vendor_A100_open", "Vendor_other")
    described = '{"number_of_nodes": 2, "accelerators_per_node": 4, "accelerator_model_name": "A100"}'
    logs = {
        **{f"results/{one}/resnet/result_{k}.txt": f"{one} {k}\n{text}" for one in systems for k in (0, 1)},
        **{f"systems/{one}.json": described for one in systems},
    }
    found = analyzed(write(tmp_path / "logs", logs))
    assert [len(repeats) for one in found for repeats in one.judged.values()] == [2, 2, 2]
    assert len({one.name for one in found}) == 3
    assert all(any(name in remark for name in systems for remark in one.remarks) for one in found)


def test_systems_that_scale_are_one_series(tmp_path: Path) -> None:
    text = LOG.replace("2xR750x4A100-SXM-40GB", "a system")
    logs = {f"{n}xR750x4A100/result_{k}.txt": f"{n} {k}\n{text}" for n in (1, 2, 4) for k in (0, 1)}
    (found,) = analyzed(write(tmp_path / "logs", logs))
    assert {case: len(repeats) for case, repeats in found.judged.items()} == {"1n4g": 2, "2n4g": 2, "4n4g": 2}


@pytest.mark.parametrize(
    ("folders", "series"),
    [
        (("A100", "H100"), 2),
        (("RTX3090", "RTX4090"), 2),
        (("R750", "R760"), 2),
        (("T4", "T40"), 2),
        (("v2.0/system", "v2.1/system"), 2),
        (("exp1", "exp2"), 2),
        (("r1", "r2"), 1),
        (("0", "1"), 1),
        (("20260101T100000Z", "20260102T100000Z"), 1),
        (("run1", "run2"), 1),
        (("2026-01-01_10-00-00", "2026-01-02_11-30-00"), 1),
        (("repeat_1/out", "repeat_2/out"), 1),
        (("job.1234", "job.1240"), 1),
    ],
)
def test_folders_that_are_named_like_systems_are_told_from_those_of_repeats(
    tmp_path: Path, folders: tuple[str, str], series: int
) -> None:
    logs = {f"{folder}/train.log": mindspore_log(speed) for folder, speed in zip(folders, (370.0, 740.0))}
    found = analyzed(write(tmp_path / "logs", logs), case=Case(1, 1), batch=128)
    assert len(found) == series

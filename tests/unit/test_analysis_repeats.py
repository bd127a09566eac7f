"""Which logs are one repeat, what every rank has to show, and whose word counts."""

from __future__ import annotations

import json

import pytest
from rackmark.run.cases import Case
from unit.log_fixture import analyzed, case_of, mindspore_log, numbers_of, tensorflow_log, write


def rank_log(rank: int = 0, ranks: int = 1, seconds: float = 0.5, steps=range(1, 201), **start: object) -> str:
    """64 samples/s with half a second a step."""
    first = {"event": "start", "time": 1.0, "rank": rank, "world_size": ranks, "batch": 32, **start}
    records = [
        {"event": "step", "time": 1.0 + step, "step": step, "samples": 32, "seconds": seconds, "loss": 2.0}
        for step in steps
    ]
    return "".join(f"RACKMARK {json.dumps(record)}\n" for record in (first, *records))


def states(found) -> list[tuple[str, float | None]]:
    return [(run["state"], run["throughput"]) for case in found.summary["cases"] for run in case["runs"]]


def reason(found) -> str:
    return str(found.summary["cases"][0]["runs"][0]["reason"])


def test_a_rank_that_lost_lines_in_the_middle_makes_no_number(tmp_path):
    lossy = [step for step in range(1, 201) if not 50 <= step < 150]
    found = numbers_of(
        write(tmp_path, {"1n2g/r1/rank-0.log": rank_log(0, 2), "1n2g/r1/rank-1.log": rank_log(1, 2, steps=lossy)})
    )
    assert states(found) == [("incomplete", None)]
    assert "Rank 1 has lines of 80 of the 180 measured steps" in reason(found)


def test_logs_of_several_repeats_in_one_folder_are_several_repeats(tmp_path):
    single = {f"1n1g/{name}.log": rank_log(seconds=seconds) for name, seconds in (("a", 0.5), ("b", 0.25), ("c", 1.0))}
    assert sorted(states(numbers_of(write(tmp_path / "single", single)))) == [("ok", 32), ("ok", 64), ("ok", 128)]
    pairs = {
        f"1n2g/run{run}_rank{rank}.log": rank_log(rank, 2, seconds)
        for run, seconds in ((1, 0.5), (2, 0.25))
        for rank in (0, 1)
    }
    assert states(numbers_of(write(tmp_path / "pairs", pairs))) == [("ok", 128), ("ok", 256)]


def test_two_logs_of_one_rank_are_no_repeat(tmp_path):
    found = numbers_of(write(tmp_path, {f"1n2g/node{node}_rank0.log": rank_log(0, 2) for node in (1, 2)}))
    assert {state for state, _ in states(found)} == {"no_log"}


def test_a_rank_without_a_usable_line_is_not_stood_in_for(tmp_path):
    logs = {"1n2g/r1/rank-0.log": rank_log(0, 2), "1n2g/r1/rank-1.log": rank_log(1, 2, seconds=0.0)}
    assert states(numbers_of(write(tmp_path, logs)))[0][0] in ("no_data", "incomplete")


def test_the_numbers_of_ranks_have_to_be_those_of_the_case(tmp_path):
    found = numbers_of(write(tmp_path, {f"1n2g/r1/rank-{rank}.log": rank_log(rank, 2) for rank in (0, 7)}))
    assert states(found) == [("no_log", None)]


def test_a_log_of_more_ranks_than_its_folder_says_is_no_measurement_of_the_case(tmp_path):
    found = numbers_of(write(tmp_path, {"1n1g/r1/rank-0.log": rank_log(0, 8)}))
    assert states(found) == [("wrong_world_size", None)]
    assert "The log is of 8 ranks, 1n1g has 1." in reason(found)


def test_the_operator_fills_in_what_nothing_says(tmp_path):
    root = write(
        tmp_path, {"1n1g/m_b128_fp32_1.log": mindspore_log(370.29), "1n1g/plain.log": mindspore_log(185.145, batch=64)}
    )
    by_batch = {one.manifest.cases[0].batch_per_device: one for one in analyzed(root, batch=64)}
    assert set(by_batch) == {64, 128}
    (other,) = analyzed(write(tmp_path / "other", {"1n1g/m_b128_fp32_1.log": mindspore_log(370.29)}), case=Case(2, 8))
    assert other.manifest.cases[0].case == "1n1g" and any("2n8g was given" in remark for remark in other.remarks)


def test_an_empty_or_broken_repeat_is_not_out_of_sight(tmp_path):
    logs: dict[str, str | bytes] = {
        "1n1g/m_b128_fp32_1.log": mindspore_log(370.29),
        "1n1g/m_b128_fp32_2.log": b"",
        "1n1g/m_b128_fp32_3.log": "Traceback (most recent call last):\n  File x\nRuntimeError: no device\n",
        "notes.txt": "nothing",
    }
    found = numbers_of(write(tmp_path, logs))
    assert [state for state, _ in states(found)] == ["ok", "no_data", "no_data"]
    assert found.summary["state"] == "partial"
    assert "RuntimeError: no device" in str(found.summary["cases"][0]["runs"][2]["reason"])


def test_series_have_names_of_their_own(tmp_path):
    logs = {
        f"{tree}/1n1g/m_b128_fp32_1.log": mindspore_log(370.29) for tree in ("x y", "x_y", "x/y", "\u00e9", "\u00fc")
    }
    names = [one.name for one in analyzed(write(tmp_path / "logs", logs))]
    assert len(set(names)) == 5 and all(len(name) < 140 and name.isascii() for name in names)
    deep = "/".join(letter * 100 for letter in "abcd") + "/1n1g/m_b128_fp32_1.log"
    (one,) = analyzed(write(tmp_path / "deep", {deep: mindspore_log(370.29)}))
    assert len(one.name) < 140


def test_a_baseline_that_is_not_there_is_refused(tmp_path):
    root = write(tmp_path, {"1n1g/m_b128_fp32_1.log": mindspore_log(370.29)})
    with pytest.raises(ValueError, match=r"no case 4n8g to compare with: there are 1n1g"):
        analyzed(root, baseline=Case(4, 8))


def test_numbers_of_devices_that_cannot_be_are_not_believed(tmp_path):
    for number, world_size in enumerate((10**14, "8", True, -1)):
        root = write(tmp_path / str(number), {"train.log": rank_log(ranks=world_size)})  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"-e case=2n8g"):
            analyzed(root)
    root = write(tmp_path / "path", {"99999n99999g/m_b128_fp32_1.log": mindspore_log(370.29)})
    with pytest.raises(ValueError, match=r"-e case=2n8g"):
        analyzed(root)


def test_durations_that_cannot_be_make_no_number(tmp_path):
    found = numbers_of(write(tmp_path, {"1n1g/r1/rank-0.log": rank_log(seconds=1e-308)}))
    assert states(found) == [("no_data", None)]


@pytest.mark.parametrize("part", ["1n2g", "1n2g/m_b128_fp32_1.log"])
def test_a_part_of_a_tree_is_read_as_in_the_tree(tmp_path, part):
    root = write(tmp_path, {"1n2g/m_b128_fp32_1.log": mindspore_log(740.58, 2)})
    assert states(numbers_of(root / part)) == [("ok", pytest.approx(740.58, abs=0.01))]


def test_a_window_that_is_empty_is_refused(tmp_path):
    root = write(tmp_path, {"1n1g/m_b128_fp32_1.log": mindspore_log(370.29)})
    with pytest.raises(ValueError, match=r"the warm-up takes 20 steps, the last to be measured is 10"):
        analyzed(root, last=10)


def test_another_dialect_than_that_of_the_logs_is_refused_by_name(tmp_path):
    root = write(tmp_path, {"1n1g/m_b128_fp32_1.log": tensorflow_log([40.0] * 5)})
    with pytest.raises(ValueError, match=r"No log has lines of the dialect mindspore\..* looks like tensorflow2"):
        analyzed(root, dialect="mindspore")


def test_ranks_of_unequal_beginnings_say_which_steps_they_have(tmp_path):
    logs = {f"1n2g/r1/rank-{rank}.log": rank_log(rank, 2, steps=range(1 + rank * 30, 201)) for rank in (0, 1)}
    found = numbers_of(write(tmp_path, logs))
    assert states(found) == [("incomplete", None)]
    assert "21 to 200" in reason(found) and "31 to 200" in reason(found)
    assert case_of(found, "1n2g")["median"] is None

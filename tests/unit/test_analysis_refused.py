"""A log that cannot be placed or read never stops the others: it is named with its reason, and the end is non-zero."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from unit.analysis_hostile_fixture import nothing_hangs, states  # noqa: F401  # a fixture
from unit.log_fixture import analyzed, mindspore_log, numbers_of, outcome_of, write

PLACED = {"1n1g/rn50_b128_fp32_1.log": mindspore_log(370.29)}


def test_logs_of_no_case_are_named_and_the_others_reported(tmp_path: Path) -> None:
    root = write(tmp_path / "logs", {**PLACED, "a.log": mindspore_log(1.0), "b/c.log": mindspore_log(2.0)})
    found = outcome_of(root)
    assert found.summary["state"] == "ok" and not found.is_whole
    (said,) = [problem for problem in found.problems if "on how many devices" in problem]
    assert "a.log, b/c.log" in said and "-e case=2n8g" in said
    assert said in found.files["report.md"].decode()
    assert outcome_of(write(tmp_path / "alone", PLACED)).is_whole


def test_a_tree_without_any_log_of_a_case_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a\.log\. Put such logs into folders like 2n8g"):
        analyzed(write(tmp_path / "logs", {"a.log": mindspore_log(1.0)}))


def test_a_log_whose_window_cannot_be_stops_no_other(tmp_path: Path) -> None:
    """-e train= that is above the warm-up of one dialect may be below that of another."""
    step = "I0826 22:10:36.352512 14 keras_utils.py:133] TimeHistory: 40.00 seconds, 3.2 examples/second between steps "
    other = "".join(step + f"{100 * k} and {100 * k + 100}\n" for k in range(6))
    found = outcome_of(write(tmp_path / "logs", {**PLACED, "1n1g/b_b128_fp32_1.log": other}), last=90)
    assert found.summary["state"] == "ok" and not found.is_whole
    assert any(problem.startswith("1n1g/b_b128_fp32_1.log is left out: Nothing would be") for problem in found.problems)


def test_a_pipe_is_named_and_never_waited_for(tmp_path: Path) -> None:
    root = write(tmp_path / "logs", PLACED)
    os.mkfifo(root / "1n1g/pipe.log")
    found = numbers_of(root)
    assert states(found) == [("ok", None)]
    assert "1n1g/pipe.log is no file but a pipe, and left out." in found.problems

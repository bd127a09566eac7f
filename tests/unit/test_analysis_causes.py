"""What a log says of its end is quoted where it explains why there is no number, and nothing else of it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.analysis_hostile_fixture import states
from unit.log_fixture import mindspore_log, numbers_of, write

NOISE = (
    "[WARNING] failed to import tensorrt, fallback is used\n",
    "top-1 error: 0.71\n",
    "No such file checkpoint.pt: training from scratch\n",
    "INFO abort_on_nan=False fail_fast=True\n",
)
DEATH = "Traceback (most recent call last):\n  File 'train.py', line 3\nRuntimeError: HCCL timed out\n"


def reason_of(tmp_path: Path, text: str, **said: object) -> str:
    found = numbers_of(write(tmp_path / "logs", {"1n1g/a_b128_fp32_1.log": text}), **said)
    ((state, reason),) = states(found)
    assert state != "ok" and reason is not None
    return reason


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("place", ["before", "between", "after"])
def test_lines_that_have_nothing_to_do_with_it_are_not_quoted(tmp_path: Path, noise: str, place: str) -> None:
    log = mindspore_log(370.0, steps=50)
    text = {"before": noise + log, "between": noise.join(log.splitlines(True)), "after": log + noise}[place]
    assert "The log says:" not in reason_of(tmp_path, text, warmup=100)


def test_the_line_that_tells_of_the_death_is(tmp_path: Path) -> None:
    log = mindspore_log(370.0, steps=50)
    assert reason_of(tmp_path, NOISE[0] + log + DEATH, warmup=100).endswith(
        "The log says: RuntimeError: HCCL timed out"
    )
    assert "The log says:" not in reason_of(tmp_path / "survived", DEATH + log, warmup=100)


def test_a_log_that_never_trained_is_explained_by_its_error(tmp_path: Path) -> None:
    write(tmp_path / "logs", {"1n1g/a_b128_fp32_2.log": mindspore_log(370.0)})
    text = "starting\npython: can't open file 'train.py': [Errno 2] No such file or directory\n"
    assert "can't open file" in reason_of_second(tmp_path, text)
    assert "The log says:" not in reason_of_second(tmp_path, "starting\ntop-1 error: 0.71\n" + NOISE[3])


def reason_of_second(tmp_path: Path, text: str) -> str:
    found = numbers_of(write(tmp_path / "logs", {"1n1g/a_b128_fp32_1.log": text}))
    return next(reason for state, reason in states(found) if state != "ok" and reason is not None)

"""Trainings that died are said to have: the numbers of what they did before are never shown without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared_data import shared
from unit.analysis_hostile_fixture import states
from unit.framework_logs import megatron
from unit.log_fixture import mindspore_log, numbers_of, tensorflow_log, write

TRACEBACK = (
    'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n    main()\n'
    'RuntimeError: NCCL error: remote process exited\nTraceback (most recent call last):\n  File "t.py", line 1\n'
    "torch.cuda.OutOfMemoryError: CUDA out of memory\n"
)
DEATHS = {
    "traceback": (TRACEBACK, "OutOfMemoryError: CUDA out of memory"),
    "sigterm": ("Main process received SIGTERM, exiting\n", "Main process received SIGTERM, exiting"),
    "slurm": ("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n", "TIME"),
    "kernel": ("bash: line 1: 12345 Killed                  python train.py\n", "Killed"),
}


def one(tmp_path: Path, text: str, **said: object) -> tuple[str, str | None, list[str]]:
    found = numbers_of(write(tmp_path / "logs", {"1n1g/a_b128_fp32_1.log": text}), **said)
    ((state, reason),) = states(found)
    return state, reason, list(found.summary["cases"][0]["flags"])


@pytest.mark.parametrize("death", DEATHS)
def test_a_training_that_died_on_its_way_is_incomplete(tmp_path: Path, death: str) -> None:
    words, quoted = DEATHS[death]
    state, reason, _ = one(tmp_path, megatron([300.0] * 6) + words, warmup=10)
    assert state == "incomplete" and reason is not None
    assert "60 of 500 planned" in reason and quoted in reason and "-e train=" in reason


def test_a_part_of_a_training_that_died_is_measured_if_somebody_says_which(tmp_path: Path) -> None:
    state, _, flags = one(tmp_path, megatron([300.0] * 6) + TRACEBACK, warmup=10, last=50)
    assert state == "ok" and "OutOfMemoryError" in flags[0]


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("log", [mindspore_log(370.0), tensorflow_log([40.0] * 5)])
def test_a_death_in_a_log_that_names_no_plan_is_quoted(tmp_path: Path, log: str, death: str) -> None:
    words, quoted = DEATHS[death]
    state, _, flags = one(tmp_path, log + words, warmup=100)
    assert state == "ok"
    assert (
        len(flags) == 1
        and flags[0].startswith("repeat 1 ends with a line that tells of a death")
        and quoted in flags[0]
    )


def test_a_log_that_ends_before_its_plan_without_a_word_says_so(tmp_path: Path) -> None:
    state, _, flags = one(tmp_path, megatron([300.0] * 6), warmup=10)
    assert (state, flags) == ("ok", ["repeat 1 ends after 60 of 500 planned"])


def test_a_training_that_came_to_its_end_has_no_flag(tmp_path: Path) -> None:
    whole = megatron([300.0] * 50)
    assert one(tmp_path, whole, warmup=10) == ("ok", None, [])
    assert one(tmp_path, TRACEBACK + whole, warmup=10) == ("ok", None, [])  # that was survived


def test_a_published_run_that_died_at_iteration_60_of_1000_is_incomplete(tmp_path: Path) -> None:
    log = shared("logs-more/megatron/meg_gpt2_base_n64_dp1_tp4_pp64-1809655.out").read_bytes()
    found = numbers_of(write(tmp_path / "logs", {"64n4g/run.out": log}), warmup=10)
    ((state, reason),) = states(found)
    assert state == "incomplete" and reason is not None and "60 of 1000 planned" in reason and "SIGTERM" in reason


def test_a_training_of_paddleseg_says_how_far_it_came(tmp_path: Path) -> None:
    log = "".join(
        f"2021-10-08 23:18:55 [INFO]\t[TRAIN] epoch: 1, iter: {number}/1000, loss: 2.0655, lr: 0.009919,"
        " batch_cost: 0.5000, reader_cost: 0.00010, ips: 8.0000 samples/sec | ETA 00:10:00\n"
        for number in range(10, 310, 10)
    )
    state, reason, _ = one(tmp_path, log + TRACEBACK)
    assert state == "incomplete" and reason is not None and "300 of 1000 planned" in reason

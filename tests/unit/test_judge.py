from __future__ import annotations

import json
import re

import pytest
from unit.judged import CASE, assert_fault, change, complete_repeat, cut, judged, judged_with_logs
from unit.run_fixture import (
    BATCH,
    WARMUP,
    event,
    rank_log,
    start_line,
    write_job,
)


@pytest.fixture
def folder(tmp_path):
    return complete_repeat(tmp_path)


def test_a_complete_repeat_is_ok(folder):
    result = judged(folder)
    assert (result.state, result.reason, result.ranks_seen, result.job_id) == ("ok", None, 4, 12)


def test_throughput_is_all_samples_over_the_time_of_the_slowest_rank(folder):
    """Computed again from the text of the logs, without any code of the package."""
    ranks = []
    for rank in range(4):
        lines = re.findall(r"^RACKMARK (.*)", (folder / f"rank-{rank}.log").read_text(), re.M)
        ranks.append([record for record in map(json.loads, lines) if record["event"] == "step"])

    def recomputed(first_step):
        counted = [[step for step in steps if step["step"] >= first_step] for steps in ranks]
        slowest = max(sum(step["seconds"] for step in steps) for steps in counted)
        return sum(step["samples"] for steps in counted for step in steps) / slowest

    result = judged(folder)
    assert result.throughput == pytest.approx(recomputed(WARMUP + 1), rel=1e-12)
    assert result.whole == result.no_eval == pytest.approx(recomputed(1), rel=1e-6)  # by the clock
    assert result.throughput == pytest.approx(4 * BATCH / (0.5 * 1.03))


def test_a_slow_step_counts_with_its_full_time(folder):
    for rank in range(4):
        log = [start_line(CASE, rank)]
        for step, seconds in enumerate([9.0, 9.0, 0.1, 0.1, 0.1, 0.4], start=1):
            log.append(event("step", 1.0, step=step, samples=BATCH, seconds=seconds, loss=1.0))
        (folder / f"rank-{rank}.log").write_text("\n".join(log))
    assert judged(folder).throughput == pytest.approx(4 * 4 * BATCH / 0.7)


def test_a_repeat_that_was_never_submitted(tmp_path):
    assert_fault(tmp_path / "r1", "launch_failed", "no record of how it ended")


def test_a_final_word_that_cannot_be_read(folder):
    (folder / "job.json").write_text('{"state": "COMPL')
    assert_fault(folder, "incomplete", "no record of how it ended", "logged 6 of 6 steps")


@pytest.mark.parametrize(
    ("slurm_state", "state"),
    [
        ("CANCELLED", "cancelled"),
        ("CANCELLED by 1000", "cancelled"),
        ("CANCELLED+", "cancelled"),
        ("PREEMPTED", "cancelled"),
        ("TIMEOUT", "timeout"),
        ("DEADLINE", "timeout"),
        ("NODE_FAIL", "node_fail"),
        ("BOOT_FAIL", "node_fail"),
        ("OUT_OF_MEMORY", "oom"),
        ("FAILED", "incomplete"),
        ("RUNNING", "incomplete"),
        ("", "incomplete"),
    ],
)
def test_perfect_logs_do_not_outweigh_what_slurm_says(folder, slurm_state, state):
    write_job(folder, slurm_state)
    assert_fault(folder, state)


def test_a_time_limit_tells_how_far_the_repeat_got(folder):
    write_job(folder, "TIMEOUT")
    cut(folder, 2, steps=3)
    limit = "slurmstepd: error: *** JOB 12 ON node1 CANCELLED AT 2026-11-18T10:16:00 DUE TO TIME LIMIT ***"
    (folder / "slurm.log").write_text(limit + "\n")
    assert_fault(folder, "timeout", "logged 3 of 6 steps", limit)


@pytest.mark.parametrize(
    "line",
    [
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:75] . DefaultCPUAllocator: can't allocate memory",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.",
    ],
)
def test_memory_that_ran_out_is_found_in_the_logs(folder, line):
    write_job(folder, "FAILED", "1:0")
    cut(folder, 1, steps=0, complaint=line + "\n")
    assert_fault(folder, "oom", line)


def test_memory_that_ran_out_and_was_coped_with_is_no_fault(folder):
    change(folder, 0, "means nothing", "ran out of memory for the fast algorithm and takes another")
    assert judged(folder).state == "ok"


def test_a_loss_that_is_not_finite_explains_all_that_follows(folder):
    write_job(folder, "TIMEOUT")
    cut(folder, 3, steps=4)
    change(folder, 3, '"loss": 1.75', '"loss": null, "loss_text": "nan"')
    assert_fault(folder, "nan_loss", "The loss of step 4 on rank 3 is not a finite number.")


def test_no_rank_left_a_log(folder):
    for path in folder.glob("rank-*"):
        path.unlink()
    assert_fault(folder, "no_log", "None of the 4 ranks left a log.")


def test_a_job_that_failed_before_any_rank_ran(folder):
    for path in folder.glob("rank-*"):
        path.unlink()
    write_job(folder, "FAILED", "127:0")
    (folder / "slurm.log").write_text("/var/spool/slurmd/job12/slurm_script: line 9: srun: command not found\n")
    assert_fault(folder, "launch_failed", "srun: command not found")


def test_the_log_of_one_rank_is_missing(folder):
    (folder / "rank-2.log").unlink()
    assert_fault(folder, "no_log", "Of 4 ranks these left no log: 2.")


def test_there_is_one_rank_too_many(folder):
    (folder / "rank-4.log").write_text(rank_log(CASE, 4, 0.5))
    assert_fault(folder, "wrong_world_size", "There is a log of rank 4, the case has 4 ranks.")


@pytest.mark.parametrize(("old", "new"), [('"world_size": 4', '"world_size": 1'), ('"rank": 1', '"rank": 0')])
def test_a_rank_that_believes_to_be_another(folder, old, new):
    change(folder, 1, old, new)
    assert_fault(folder, "wrong_world_size", "Rank 1 of 4 believed to be rank")


def test_a_program_that_cannot_start(folder):
    write_job(folder, "FAILED", "1:0")
    for rank in range(4):
        (folder / f"rank-{rank}.log").write_text(
            "Traceback (most recent call last):\nModuleNotFoundError: No module named 'torch'\n"
        )
        (folder / f"rank-{rank}.exit").write_text("1\n")
    assert_fault(folder, "launch_failed", "Rank 0 never started to train.", "No module named 'torch'")


def test_a_rank_that_ended_well_without_training(folder):
    (folder / "rank-1.log").write_text("nothing to do\n")
    assert_fault(folder, "no_data", "Rank 1 ended well")


def test_ranks_that_started_and_did_no_step(folder):
    for rank in range(4):
        cut(folder, rank, steps=0, exit_status="0")
    assert_fault(folder, "no_data", "No rank finished a step.")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"samples": 8,', '"samples": "8",', "A line of step 1 does not count: its `samples` are no number above 0."),
        ('"seconds": ', '"seconds": -', "A line of step 1 does not count: its `seconds` are no number above 0."),
        ('"step": ', '"step": 0.', "A line does not count: its `step` is no whole number."),
    ],
)
def test_lines_that_cannot_be_counted_are_told(folder, old, new, sentence):
    for rank in range(4):
        change(folder, rank, old, new)
    assert_fault(folder, "no_data", "No rank finished a step.", sentence)


def test_a_step_short_is_incomplete_even_if_slurm_says_completed(folder):
    cut(folder, 3, steps=5, exit_status="0")
    assert_fault(folder, "incomplete", "Rank 3 logged 5 of 6 steps and ended with exit status 0.")


def test_a_step_that_is_logged_twice_is_no_replacement_for_another(folder):
    change(folder, 0, '"step": 5,', '"step": 6,')
    assert_fault(folder, "incomplete", "rank 0", "steps 1 to 6 once each and in order")


def test_more_steps_than_planned_are_incomplete_too(folder):
    (folder / "rank-0.log").write_text(rank_log(CASE, 0, 0.5, steps=7))
    assert_fault(folder, "incomplete", "rank 0")


def test_a_rank_that_failed_after_its_last_step(folder):
    (folder / "rank-3.exit").write_text("134\n")
    assert_fault(folder, "incomplete", "Rank 3 did all steps but ended with exit status 134 (SIGABRT).")


def test_a_rank_whose_exit_status_is_unknown(folder):
    (folder / "rank-3.exit").unlink()
    assert_fault(folder, "incomplete", "Rank 3 did all steps but left no exit status.")


def test_the_quoted_line_is_the_cause_and_not_what_other_ranks_said_of_it(folder):
    write_job(folder, "FAILED", "1:0")
    cut(
        folder,
        0,
        3,
        complaint="RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.2]:5\n",
    )
    cut(folder, 2, 3, complaint="OSError: [Errno 5] Input/output error: '/userhome/data'\n")
    cut(folder, 3, 3, complaint="RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection reset by peer\n")
    (folder / "slurm.log").write_text("srun: error: node2: task 2: Exited with exit code 1\n")
    assert_fault(folder, "incomplete", "The log says: OSError: [Errno 5] Input/output error: '/userhome/data'")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"device": "cpu"', '"device": "cuda"', "Rank 1 ran with device=cuda, asked was cpu."),
        ('"batch": 8', '"batch": 4', "Rank 1 ran with batch=4, asked was 8."),
        ('"precision": "fp32"', '"precision": "bf16"', "Rank 1 ran with precision=bf16, asked was fp32."),
        ('"host": "node1"', '"host": "node2"', "The ranks were not spread as 2n2g says: 1 on node1, 3 on node2."),
    ],
)
def test_a_rank_that_ran_something_else_breaks_the_rules(folder, old, new, reason):
    change(folder, 1, old, new)
    assert_fault(folder, "rule_failed", reason)


def test_ranks_packed_on_one_node_are_no_measurement_of_two(folder):
    for rank in (2, 3):
        change(folder, rank, '"host": "node2"', '"host": "node1"')
    assert_fault(folder, "rule_failed", "The ranks were not spread as 2n2g says: 4 on node1.")


def test_the_quoted_line_is_from_a_rank_that_failed(folder):
    write_job(folder, "FAILED", "1:0")
    cut(folder, 0, 3, complaint="ValueError: the data ends here\n")
    cut(folder, 3, 6, exit_status="0", complaint="Exception ignored while closing a file\n")
    assert_fault(folder, "incomplete", "The log says: ValueError: the data ends here")


def test_a_rank_that_failed_is_named_before_those_that_were_killed_for_it(folder):
    write_job(folder, "FAILED", "1:0")
    for rank in (0, 1, 3):
        cut(folder, rank, 3, complaint="error: the connection to the store is gone\n")
        (folder / f"rank-{rank}.exit").unlink()
    cut(folder, 2, 4, complaint="ValueError: the data ends here\n")
    reason = "Rank 2 logged 4 of 6 steps and ended with exit status 1. The log says: ValueError: the data ends here"
    assert_fault(folder, "incomplete", reason)


def test_bytes_that_are_no_text_hide_nothing(folder):
    path = folder / "rank-0.log"
    path.write_bytes(b"\xff\xfe\n" + path.read_bytes())
    assert judged(folder).state == "ok"


def test_no_evaluation_is_no_accuracy(folder):
    assert judged(folder).accuracy is None


def test_the_ranks_come_with_the_verdict(folder):
    assert list(judged_with_logs(folder).ranks) == [0, 1, 2, 3]

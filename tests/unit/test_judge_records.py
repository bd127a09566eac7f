"""What the queue, the job's own record and its last word say of a repeat, beside what its logs show."""

from __future__ import annotations

import json
import os

import pytest
from unit.judged import assert_fault, change, complete_repeat, cut, judged
from unit.run_fixture import STARTED, write_job


@pytest.fixture
def folder(tmp_path):
    return complete_repeat(tmp_path)


def write_end(folder, state, reason=None, **facts):
    end = {"schema": "rackmark.end/1", "state": state, "reason": reason, "exit_status": 0 if state == "ok" else 1}
    end.update({"started": STARTED, "ended": STARTED + 60, "attempt": 1, "nodes": ["node1", "node2"], **facts})
    (folder / "end.json").write_text(json.dumps(end))


def forget_job(folder):
    (folder / "job.json").unlink()


def forget_logs(folder):
    for path in folder.glob("rank-*"):
        path.unlink()


def change_job(folder, **facts):
    job = json.loads((folder / "job.json").read_text())
    (folder / "job.json").write_text(json.dumps({**job, **facts}))


def test_the_time_of_a_job_is_from_its_begin_to_its_end_by_its_own_word(folder):
    assert judged(folder).e2e_s is None
    write_end(folder, "ok")
    assert judged(folder).e2e_s == 60


def test_a_job_that_slurm_has_forgotten_is_judged_by_its_own_word(folder):
    forget_job(folder)
    write_end(folder, "ok")
    result = judged(folder)
    assert (result.state, result.job_id, result.nodes) == ("ok", None, "node1,node2")


def test_a_job_that_nobody_saw_end_is_judged_by_its_own_word(folder):
    write_job(folder, "RUNNING")
    write_end(folder, "ok")
    assert judged(folder).state == "ok"


def test_the_jobs_own_word_alone_is_not_enough_without_the_numbers(folder):
    forget_job(folder)
    write_end(folder, "ok")
    cut(folder, 2, steps=4, exit_status="0")
    assert_fault(folder, "incomplete", "Rank 2 logged 4 of 6 steps")


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("stalled", "No line came for 900 s after step 4 of rank 1 on node1, while others reached step 5."),
        ("timeout", "The job reached its limit of 10 minutes."),
        ("cancelled", "The job was ended from outside by SIGTERM."),
        ("preflight_failed", "node2: /tmp has 3 MB free, and a job needs 200 MB."),
        ("launch_failed", "srun ended with exit status 1 before any rank had started."),
    ],
)
def test_what_the_engine_has_seen_is_the_reason(folder, state, reason):
    write_job(folder, "FAILED", "4:0")
    write_end(folder, state, reason)
    cut(folder, 1, steps=4, exit_status="143", complaint="rackmark: The process of rank 1 was ended by SIGTERM.\n")
    (folder / "slurm.log").write_text(f"rackmark: {state}: {reason}\n")
    assert_fault(folder, state)
    assert judged(folder).reason.startswith(reason)


def test_an_error_in_the_log_of_a_stalled_rank_is_quoted(folder):
    write_end(folder, "stalled", "No line came for 900 s.")
    cut(folder, 1, steps=4, complaint="ValueError: a thread of the loader died\n")
    assert_fault(folder, "stalled", "The log says: ValueError: a thread of the loader died")


@pytest.mark.parametrize(
    ("slurm_state", "state"),
    [("CANCELLED", "cancelled"), ("TIMEOUT", "timeout"), ("NODE_FAIL", "node_fail"), ("OUT_OF_MEMORY", "oom")],
)
def test_slurms_word_comes_before_the_jobs_own(folder, slurm_state, state):
    write_job(folder, slurm_state)
    write_end(folder, "failed", "First of all, rank 1 on node1 ended with exit status 143.")
    assert_fault(folder, state)


def test_ranks_that_logged_and_no_word_of_their_end(folder):
    forget_job(folder)
    assert_fault(folder, "incomplete", "The job left no record of how it ended.")


def test_a_node_that_let_no_job_in_is_named_with_its_reason(folder):
    forget_logs(folder)
    write_job(folder, "CANCELLED")
    change_job(folder, node_reasons={"node2": "rackmark: /userhome is not mounted"})
    assert_fault(folder, "preflight_failed", "node2: rackmark: /userhome is not mounted.")


def test_a_person_who_cancels_a_job_is_named_though_a_node_is_down(folder):
    forget_logs(folder)
    write_job(folder, "CANCELLED by 1000")
    change_job(folder, node_reasons={"node2": "Not responding"})
    assert_fault(folder, "cancelled", "by the user with the id 1000")


def test_a_node_that_fails_is_named(folder):
    write_job(folder, "NODE_FAIL")
    change_job(folder, node_reasons={"node2": "Not responding"})
    assert_fault(folder, "node_fail", "A node failed while the job ran. node2: Not responding.")


def test_a_full_disk_is_part_of_the_reason(folder):
    write_job(folder, "FAILED", "1:0")
    write_end(folder, "failed", "First of all, rank 3 on node2 ended with exit status 1.", free_mb=0)
    cut(folder, 3, steps=4, complaint="cat: write error: No space left on device\n")
    assert_fault(folder, "incomplete", "No space left on device", "Only 0 MB were free where the logs are written.")


def test_a_full_disk_is_part_of_what_the_job_says_of_its_end(folder):
    forget_job(folder)
    write_end(folder, "launch_failed", "The job could not be started: No space left on device.", free_mb=0)
    assert_fault(folder, "launch_failed", "left on device.", " Only 0 MB were free where the logs are written.")


def test_a_full_disk_that_the_preflight_names_is_not_named_twice(folder):
    forget_job(folder)
    write_end(folder, "preflight_failed", "There is hardly any space: 0 MB in /userhome.", free_mb=0)
    assert judged(folder).reason == "There is hardly any space: 0 MB in /userhome."


def test_the_rank_that_the_engine_saw_fail_first_is_named(folder):
    write_job(folder, "FAILED", "1:0")
    write_end(folder, "failed", "", first_failed=2)
    for rank in range(4):
        cut(folder, rank, 3, exit_status="137" if rank == 2 else "1", complaint=f"OSError: this is rank {rank}\n")
    assert_fault(folder, "incomplete", "Rank 2 logged 3 of 6 steps", "status 137 (SIGKILL)", "OSError: this is rank 2")


def test_the_rank_whose_status_was_written_first_is_named(folder):
    write_job(folder, "FAILED", "1:0")
    for rank in range(4):
        cut(folder, rank, 3, complaint=f"OSError: this is rank {rank}\n")
        os.utime(folder / f"rank-{rank}.exit", (STARTED, STARTED + (rank - 2) ** 2))
    assert_fault(folder, "incomplete", "Rank 2 logged", "OSError: this is rank 2")


def test_a_rank_that_was_told_to_end_is_not_the_one_to_blame(folder):
    write_job(folder, "FAILED", "1:0")
    for rank in (0, 1, 2):
        cut(folder, rank, 3, exit_status="143", complaint="error: the store is gone\n")
    cut(folder, 3, 4, complaint="ValueError: the data ends here\n")
    assert_fault(folder, "incomplete", "Rank 3 logged 4 of 6 steps", "ValueError: the data ends here")


def lose(folder, rank, steps=3):
    """The rank and what watched over it were killed: there is nobody left to write its exit status."""
    cut(folder, rank, steps)
    (folder / f"rank-{rank}.exit").unlink()


TOLD_TO_END = "rackmark: The process of rank {} was ended by SIGTERM.\n"
SRUN_ON_IT = "srun: error: node2: task 3: Killed\nsrun: Terminating StepId=12.1\n"


@pytest.mark.parametrize("first_failed", [None, 0])
def test_a_rank_that_left_no_exit_status_is_named_before_those_that_were_told_to_end(folder, first_failed):
    write_job(folder, "FAILED", "9:0")
    write_end(folder, "failed", "No exit status was left by rank 3 on node2.", first_failed=first_failed)
    for rank in (0, 1, 2):
        cut(folder, rank, 3, exit_status="143", complaint=TOLD_TO_END.format(rank))
    lose(folder, 3)
    (folder / "slurm.log").write_text(SRUN_ON_IT)
    said = "Rank 3 logged 3 of 6 steps and left no exit status. The log says: srun: error: node2: task 3: Killed"
    assert_fault(folder, "incomplete", said)


def test_a_rank_that_left_no_exit_status_is_named_before_those_that_lost_their_connection_to_it(folder):
    write_job(folder, "FAILED", "9:0")
    write_end(folder, "failed", "First of all, rank 0 on node1 ended with exit status 1.", first_failed=0)
    for rank in (0, 1, 2):
        cut(folder, rank, 3, complaint="RuntimeError: [gloo/tcp/pair.cc:534] Connection closed by peer [10.0.0.2]:5\n")
    lose(folder, 3)
    assert_fault(folder, "incomplete", "Rank 3 logged 3 of 6 steps and left no exit status.")


def test_a_rank_that_gave_a_cause_is_named_before_one_that_left_no_exit_status(folder):
    write_job(folder, "FAILED", "1:0")
    cut(folder, 2, 4, complaint="ValueError: the data ends here\n")
    lose(folder, 1)
    assert_fault(folder, "incomplete", "Rank 2 logged 4 of 6 steps", "ValueError: the data ends here")


def test_a_training_that_was_taken_up_again_is_no_measurement(folder):
    change(folder, 1, '"event": "start"', '"event": "start", "resumed_from": 4')
    change(folder, 1, '"step": 1,', '"step": 5,')
    assert_fault(folder, "rule_failed", "Rank 1 took up a training after step 4")


def test_attempts_are_counted_and_only_the_last_is_judged(folder):
    (folder / "attempt-1").mkdir()
    (folder / "attempt-1" / "rank-9.log").write_text("Traceback\n")
    result = judged(folder)
    assert (result.state, result.attempts) == ("ok", 2)


BUSY = "F geop_npu.cc:186] Open TsdClient failed, tdt error code : 16986312, error message : hdc device id error"


def test_a_device_of_ascend_that_was_not_handed_over_is_worth_another_try(folder):
    cut(folder, 2, steps=0, exit_status="134", complaint=BUSY)
    assert_fault(folder, "launch_failed", "rank 2", "hdc device id error", "-e run_id=", "benchmark_settle_seconds")


def test_the_same_words_in_a_job_that_went_well_mean_nothing(folder):
    with (folder / "rank-2.log").open("a") as log:
        log.write(BUSY + "\n")
    assert judged(folder).state == "ok"

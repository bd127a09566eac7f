from __future__ import annotations

import pytest
from rackmark.judging.evidence import cause_line, decisive_line

SRUN = "srun: error: node1: task 0: Exited with exit code 1\nsrun: Terminating StepId=2.0\n"


@pytest.mark.parametrize(
    "cause",
    [
        "train_pytorch.py: rank 0 of 2 could not join the others at node1:20002: no libuv",
        "RuntimeError: Unable to find address for: host0",
        "bash: /userhome/env/bin/python: No such file or directory",
    ],
)
def test_what_the_program_says_comes_before_what_the_launcher_says(cause):
    assert decisive_line([SRUN, f"starting\n{cause}\n"]) == cause


def test_the_launcher_is_quoted_when_nothing_else_was_said():
    assert decisive_line([SRUN, "starting\n"]) == "srun: error: node1: task 0: Exited with exit code 1"


TRACEBACK = """Traceback (most recent call last):
  File "/userhome/code/train.py", line 7, in fail_fast
    raise StopTraining("no error here")
train.StopTraining: the learning rate is negative
  given was -1
"""


def test_that_a_step_was_ended_is_no_cause_of_its_end_unless_it_says_why():
    said = "slurmstepd-node1: error: *** STEP 8.1 ON node1 CANCELLED AT 2026-11-19T19:49:49{} ***"
    assert decisive_line([said.format("")]) is None
    assert decisive_line([said.format(" DUE TO TIME LIMIT")]) is not None


def test_of_a_traceback_the_line_counts_that_names_the_exception():
    assert decisive_line([SRUN, TRACEBACK]) == "train.StopTraining: the learning rate is negative"


def test_of_two_tracebacks_the_last_exception_counts():
    chained = "Traceback (most recent call last):\n  a\nKeyError: 1\n\nDuring handling of it another came:\n\n"
    assert decisive_line([chained + TRACEBACK]) == "train.StopTraining: the learning rate is negative"


def test_the_sentence_of_the_most_telling_text_comes_before_the_traceback_of_another():
    sentence = "train_pytorch.py: the loss of step 4 cannot be computed"
    assert decisive_line([SRUN, TRACEBACK, f"{sentence}\n"]) == sentence


def test_an_exception_about_the_loss_of_another_rank_is_no_cause():
    lost = "Traceback (most recent call last):\n  x\nRuntimeError: Connection closed by peer [10.0.0.2]:5\n"
    assert decisive_line([TRACEBACK, lost]) == "train.StopTraining: the learning rate is negative"
    assert cause_line([lost]) is None


@pytest.mark.parametrize(
    "line",
    [
        "tee: rank.log: No space left on device",
        "Disk quota exceeded",
        "rackmark: The process of rank 1 on node1 was ended by SIGKILL.",
        "rackmark: The process of rank 1 on node1 was stopped by SIGSTOP at 12:00:00.",
    ],
)
def test_lines_that_tell(line):
    assert cause_line([f"{line}\nepoch 3\n"]) == line


def test_the_engines_own_summary_is_not_quoted():
    assert decisive_line(["rackmark: failed: First of all, rank 1 ended with exit status 1.\nhello\n"]) == "hello"

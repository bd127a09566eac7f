from __future__ import annotations

import pytest
from rackmark.evidence import decisive_line

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

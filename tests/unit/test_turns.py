"""Runs that take turns: the order of their jobs, who takes them back, and what that does to a comparison."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rackmark.compare.side_by_side import change_of_median
from rackmark.run.job_state import QueueError
from rackmark.run.queues.queue import QueuedJob, Traits
from rackmark.run.turns import Waiting, in_turns, submit_in_turns

TRIALS = 2000


class Asked:
    """A queue that keeps what it is asked for; it refuses the job `refused`."""

    def __init__(self, log, refused="", alternates=False):
        self.traits = Traits("a queue", "", starts_on="here", shown_by="", alternates=alternates)
        self.log, self.refused = log, refused

    def submit(self, jobs, running, one_at_a_time, leftovers):
        assert one_at_a_time
        if self.refused in [job.name for job in jobs]:
            raise QueueError("There is no room.")
        first = len(self.log)
        self.log.append(([job.name for job in jobs], list(running), list(leftovers)))
        return {job.name: first + place for place, job in enumerate(jobs)}

    def cancel(self, states):
        self.log.append(("cancelled", sorted(states), [state.finished for state in states.values()]))


def jobs(*names):
    return [QueuedJob(name, Path(name), 1, 1) for name in names]


def test_every_job_comes_after_that_of_the_other_run():
    log = []
    runs = [Waiting(Asked(log), jobs("a1", "a2", "a3"), ["a2"]), Waiting(Asked(log), jobs("b1", "b2"), [])]
    assert list(submit_in_turns(runs)) == ["a1", "b1", "a2", "b2", "a3"]
    assert [running for _, running, _ in log] == [[], [0], [1], [2], [3]]
    assert log[2] == (["a2"], [1], ["a2"])


def test_a_queue_in_which_runs_alternate_is_given_each_at_once():
    log = []
    queue = Asked(log, alternates=True)
    submit_in_turns([Waiting(queue, jobs("a1", "a2"), []), Waiting(queue, jobs("b1"), [])])
    assert [names for names, *_ in log] == [["a1", "a2"], ["b1"]]


def test_what_was_submitted_is_taken_back_when_the_queue_refuses_one():
    log = []
    with pytest.raises(QueueError, match="no room"):
        submit_in_turns([Waiting(Asked(log), jobs("a1", "a2"), []), Waiting(Asked(log, "b2"), jobs("b1", "b2"), [])])
    assert [entry[:2] for entry in log if entry[0] == "cancelled"] == [
        ("cancelled", ["a1", "a2"]),
        ("cancelled", ["b1"]),
    ]


@pytest.mark.parametrize("repeats", [3, 5, 10])
def test_two_of_the_same_are_the_same_in_95_of_100_comparisons_whatever_the_session_is_like(repeats):
    """Each session is shifted by 1 % (standard deviation) and drifts by 1 % from its begin to its end; repeats differ
    by another 1 %. Runs of two sessions are told apart by what is no difference; runs that take turns are not."""
    chance = np.random.default_rng(20261120)

    def session(count):
        drift = chance.normal(0, 0.01) * np.linspace(0, 1, count)
        return 100 * (1 + chance.normal(0, 0.01)) * (1 + drift) * np.exp(chance.normal(0, 0.01, count))

    def differ(before, after):
        low, high = change_of_median(before.tolist(), after.tolist()).bounds
        return not low <= 0 <= high

    wrong, apart = 0, 0
    for _ in range(TRIALS):
        places = in_turns([[f"a{number}" for number in range(repeats)], [f"b{number}" for number in range(repeats)]])
        values = session(len(places))
        of_run = {run: values[[place.startswith(run) for place in places]] for run in "ab"}
        wrong += differ(of_run["a"], of_run["b"])
        apart += differ(session(repeats), session(repeats))
    assert wrong / TRIALS <= 0.06
    assert apart / TRIALS > 2 * wrong / TRIALS
